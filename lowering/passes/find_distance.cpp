#include <algorithm>

#include "analysis/values/definitions.h"
#include "lowering/passes/specialise_distances.h"

namespace ptx2cpu::lowering {

using analysis::DefinitionOf;
using analysis::NumberOf;
using ir::Opcode;
using ir::ValueId;

namespace {

constexpr int kMaxDepth = 24;
constexpr uint32_t kLowBits = 31;

bool IsLinearInLowBits(Opcode op) {
  return op == Opcode::kAdd || op == Opcode::kSub || op == Opcode::kMul || op == Opcode::kXor ||
         op == Opcode::kAnd || op == Opcode::kOr;
}

uint64_t Computed(Opcode op, uint64_t a, uint64_t b) {
  if (op == Opcode::kAdd) return a + b;
  if (op == Opcode::kSub) return a - b;
  if (op == Opcode::kMul) return a * b;
  if (op == Opcode::kXor) return a ^ b;
  if (op == Opcode::kAnd) return a & b;
  if (op == Opcode::kOr) return a | b;
  if (op == Opcode::kShl) return b < 64 ? a << b : 0;
  return b < 64 ? a >> b : 0;  // kShrU
}

}  // namespace

std::optional<uint64_t> ConstantOf(const ir::Function& f, const ir::Inst& inst) {
  if (inst.op == Opcode::kConst) return inst.attrs.bits;
  const bool is_known = IsLinearInLowBits(inst.op) || inst.op == Opcode::kShl || inst.op == Opcode::kShrU;
  if (!is_known || inst.type != ir::Type::kI32 || inst.attrs.flags != 0) return std::nullopt;
  const auto a = NumberOf(f, inst.operands[0]), b = NumberOf(f, inst.operands[1]);
  if (!a || !b) return std::nullopt;
  return Computed(inst.op, *a, *b) & 0xffffffff;
}

bool DistanceFinder::IsStored(uint32_t slot) const {
  return std::ranges::any_of(region_, [&](ir::BlockId block) {
    return std::ranges::any_of(f_.at_block(block).insts, [&](ir::InstId id) {
      return f_.at_inst(id).op == Opcode::kSlotStore && f_.at_inst(id).attrs.index == slot;
    });
  });
}

// True where the value is the same in all threads and available before they run the region.
bool DistanceFinder::IsOfBlock(ValueId value, int depth) const {
  const ir::Inst* def = DefinitionOf(f_, value);
  if (f_.at_block(f_.at_value(value).block).level != ir::Level::kLane) return true;
  if (def == nullptr || depth == 0) return false;
  if (def->op == Opcode::kSpecialRegister)
    return ir::Info(def->attrs.special).varies <= ir::Varies::kUniformInBlock;
  if (def->op == Opcode::kSlotLoad)
    return f_.slots[def->attrs.index].shape == ir::Level::kBlock && !IsStored(def->attrs.index);
  const bool is_parameter = def->op == Opcode::kLoad && def->attrs.space == ir::Space::kParam && f_.is_kernel;
  if (!is_parameter && ir::Info(def->op).effect != ir::Effect::kPure) return false;
  return ir::Info(def->op).lanes == ir::Lanes::kAlone &&
         std::ranges::all_of(def->operands, [&](ValueId operand) { return IsOfBlock(operand, depth - 1); });
}

// The thread's number and what all threads know: no element of memory.
bool DistanceFinder::CountsThreads(ValueId value, int depth) const {
  if (IsOfBlock(value, kMaxDepth)) return true;
  const ir::Inst* def = DefinitionOf(f_, value);
  if (depth == 0) return false;
  if (def == nullptr) return ParameterCountsThreads(f_.at_value(value), depth);
  if (def->op == Opcode::kSpecialRegister) {
    const ir::Varies varies = ir::Info(def->attrs.special).varies;
    return varies == ir::Varies::kAffineInTid || varies == ir::Varies::kAffineInLane;
  }
  return ir::Info(def->op).effect == ir::Effect::kPure &&
         std::ranges::all_of(def->operands,
                             [&](ValueId operand) { return CountsThreads(operand, depth - 1); });
}

// True for a loop variable that begins with such a value; the amount added in each trip is not examined.
bool DistanceFinder::ParameterCountsThreads(const ir::Value& param, int depth) const {
  for (ir::BlockId block : region_) {
    if (block == param.block) break;
    for (const ir::Edge& edge : f_.successors(block)) {
      if (edge.to == param.block) return CountsThreads(edge.args[param.number], depth - 1);
    }
  }
  return false;
}

std::optional<uint64_t> DistanceFinder::OffsetOfParameter(const ir::Inst& load) const {
  if (load.op != Opcode::kLoad || load.attrs.space != ir::Space::kParam) return std::nullopt;
  const ir::Inst* address = DefinitionOf(f_, load.operands[0]);
  if (address->op == Opcode::kParamBase) return 0;
  if (address->op != Opcode::kAdd) return std::nullopt;
  const ir::Inst* base = DefinitionOf(f_, address->operands[0]);
  return base != nullptr && base->op == Opcode::kParamBase ? NumberOf(f_, address->operands[1])
                                                           : std::nullopt;
}

bool DistanceFinder::IsSame(ValueId a, ValueId b) const {
  const ir::Inst *x = DefinitionOf(f_, a), *y = DefinitionOf(f_, b);
  if (a == b) return true;
  if (x == nullptr || y == nullptr || x->op != y->op || x->type != y->type) return false;
  if (x->op == Opcode::kSlotLoad) return x->attrs.index == y->attrs.index;
  if (x->op != Opcode::kLoad || x->results.size() != 1 || y->results.size() != 1) return false;
  const auto offset = OffsetOfParameter(*x);
  return offset && offset == OffsetOfParameter(*y);
}

// Without numbers that are added to it, or by which its bits change.
ValueId DistanceFinder::RootOf(ValueId value) const {
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const ir::Inst* def = DefinitionOf(f_, value);
    if (def == nullptr || !IsLinearInLowBits(def->op) || def->type != ir::Type::kI32 || def->attrs.flags != 0)
      return value;
    if (def->op == Opcode::kMul || def->op == Opcode::kAnd || def->op == Opcode::kOr) return value;
    if (NumberOf(f_, def->operands[1])) {
      value = def->operands[0];
    } else if (NumberOf(f_, def->operands[0])) {
      value = def->operands[1];
    } else {
      return value;
    }
  }
  return value;
}

// The known low bits of a value with this root, where the root's low bits are known.
uint32_t DistanceFinder::LowBits(ValueId value, ValueId root, uint32_t of_root) const {
  if (value == root) return of_root;
  const ir::Inst& def = *DefinitionOf(f_, value);
  const auto number = NumberOf(f_, def.operands[1]);
  const uint64_t a = number ? LowBits(def.operands[0], root, of_root) : *NumberOf(f_, def.operands[0]);
  const uint64_t b = number ? *number : LowBits(def.operands[1], root, of_root);
  return static_cast<uint32_t>(Computed(def.op, a, b)) & kLowBits;
}

std::optional<size_t> DistanceFinder::PlaceIn(const ir::Inst& inst) const {
  const bool is_symmetric = inst.op == Opcode::kAnd || inst.op == Opcode::kXor;
  const bool divides = inst.op == Opcode::kDivU || inst.op == Opcode::kRemU;
  if ((!is_symmetric && !divides) || inst.type != ir::Type::kI32) return std::nullopt;
  for (size_t place = 0; place < (is_symmetric ? 2 : 1); ++place) {
    const ValueId m = inst.operands[1 - place];
    const ir::Inst* root = DefinitionOf(f_, RootOf(m));
    const bool is_number = root != nullptr && root->op == Opcode::kConst;
    if (!is_number && IsOfBlock(m, kMaxDepth) && !IsOfBlock(inst.operands[place], kMaxDepth) &&
        CountsThreads(inst.operands[place], kMaxDepth))
      return place;
  }
  return std::nullopt;
}

void DistanceFinder::FromAddress(ValueId value, int depth) {
  if (depth == 0 || visited_[value.index]) return;
  visited_[value.index] = true;
  const ir::Inst* def = DefinitionOf(f_, value);
  if (def == nullptr || f_.at_block(def->block).level != ir::Level::kLane) return;
  if (ir::Info(def->op).effect != ir::Effect::kPure) return;
  if (PlaceIn(*def)) found_.push_back(f_.at_value(value).def);
  for (ValueId operand : def->operands) FromAddress(operand, depth - 1);
}

// A use of this distance, unless its low bits are neither all zero nor all one.
bool DistanceFinder::AddUse(ir::InstId id, Distance& distance) const {
  const ir::Inst& inst = f_.at_inst(id);
  const size_t place = *PlaceIn(inst);
  const ValueId m = inst.operands[1 - place], root = RootOf(m);
  if (!IsSame(root, distance.value)) return false;
  const uint32_t low = LowBits(m, root, distance.kind == Distance::kMask ? kLowBits : 0);
  const bool divides = inst.op == Opcode::kDivU || inst.op == Opcode::kRemU;
  if ((low != 0 && low != kLowBits) || (divides && (low != 0 || m != root))) return false;
  distance.uses.push_back({id, place, low});
  return true;
}

std::optional<Distance> DistanceFinder::Run() {
  visited_.resize(f_.values.size());
  for (ir::BlockId block : region_) {
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) FromAddress(inst.operands[0], kMaxDepth);
    }
  }
  if (found_.empty()) return std::nullopt;
  const ir::Inst& first = f_.at_inst(found_[0]);
  const ValueId m = first.operands[1 - *PlaceIn(first)];
  Distance distance;
  distance.value = RootOf(m);
  distance.kind = first.op == Opcode::kAnd && m == distance.value ? Distance::kMask : Distance::kPower;
  if (f_.type_of(distance.value) != ir::Type::kI32) return std::nullopt;
  for (ir::InstId id : found_) AddUse(id, distance);
  if (distance.uses.empty()) return std::nullopt;
  for (ir::BlockId block : region_) {
    for (ir::InstId id : f_.at_block(block).insts) {
      for (ValueId result : f_.at_inst(id).results) {
        if (IsSame(result, distance.value)) distance.same.push_back(result);
      }
    }
  }
  return distance;
}

}  // namespace ptx2cpu::lowering
