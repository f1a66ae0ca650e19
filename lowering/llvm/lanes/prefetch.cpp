// Prefetching where all threads of a block take a trip of a loop before the next one begins, and each trip is
// elsewhere in memory: a loop that strides by the grid.
//
//   for trip n: for lanes: v = x[n * stride + lane ..]; update shared[v] lane by lane
//   ->   the same, and prefetch x[(n + 4) * stride + lane ..]
//
// Processors prefetch what is read in order, and read ahead as far as their window of instructions reaches.
// Work that is done lane by lane is longer than this window. In other loops a prefetch gains nothing.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr int kTripsAhead = 4;
constexpr int kDepth = 10;

const ir::Inst* DefinitionOf(const ir::Function& f, ValueId id) {
  const ir::InstId def = f.at_value(id).def;
  return def.valid() ? &f.at_inst(def) : nullptr;
}

std::optional<int64_t> ConstantOf(const ir::Function& f, ValueId id) {
  const ir::Inst* def = DefinitionOf(f, id);
  if (def == nullptr || def->op != Opcode::kConst) return std::nullopt;
  return static_cast<int64_t>(def->attrs.bits);
}

// The only value that a parameter of a block can have, if the block is entered over one edge.
std::optional<ValueId> OnlyArgument(const ir::Function& f, ValueId param) {
  const ir::BlockId block = f.at_value(param).block;
  const auto place = std::ranges::find(f.at_block(block).params, param);
  if (place == f.at_block(block).params.end()) return std::nullopt;
  const auto number = static_cast<size_t>(place - f.at_block(block).params.begin());
  std::optional<ValueId> only;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (const ir::Edge& edge : inst.edges) {
      if (edge.to != block) continue;
      if (only) return std::nullopt;
      only = edge.args[number];
    }
  }
  return only;
}

// What is added to the slot where a trip ends: the one store of a sum of it.
std::optional<ValueId> StepOf(const ir::Function& f, uint32_t slot) {
  std::optional<ValueId> step;
  for (const ir::Inst& store : f.insts) {
    if (!store.block.valid() || store.op != Opcode::kSlotStore || store.attrs.index != slot) continue;
    const ir::Inst* sum = DefinitionOf(f, store.operands[0]);
    if (sum == nullptr || sum->op != Opcode::kAdd) continue;
    for (size_t i = 0; i < 2; ++i) {
      const ir::Inst* old = DefinitionOf(f, sum->operands[i]);
      if (old == nullptr || old->op != Opcode::kSlotLoad || old->attrs.index != slot) continue;
      if (step) return std::nullopt;
      step = sum->operands[1 - i];
      break;
    }
  }
  return step;
}

// A counter of the block in a sum, and how often it is in it. Widening and wrapping around are ignored: where
// that matters, other memory is prefetched.
std::optional<std::pair<uint32_t, int64_t>> CounterIn(const ir::Function& f, ValueId id, int depth) {
  if (depth == 0) return std::nullopt;
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr) {
    const std::optional<ValueId> only = OnlyArgument(f, id);
    return only ? CounterIn(f, *only, depth - 1) : std::nullopt;
  }
  auto times = [&](ValueId value, int64_t factor) {
    auto counter = CounterIn(f, value, depth - 1);
    if (counter) counter->second *= factor;
    return counter;
  };
  if (inst->op == Opcode::kSlotLoad && f.slots[inst->attrs.index].shape == ir::Level::kBlock)
    return std::pair(inst->attrs.index, int64_t{1});
  if (inst->op == Opcode::kZext || inst->op == Opcode::kSext || inst->op == Opcode::kToGeneric ||
      inst->op == Opcode::kFromGeneric)
    return times(inst->operands[0], 1);
  if (inst->op == Opcode::kShl) {
    const auto by = ConstantOf(f, inst->operands[1]);
    return by && *by >= 0 && *by < 32 ? times(inst->operands[0], int64_t{1} << *by) : std::nullopt;
  }
  if (inst->op == Opcode::kMul) {
    for (size_t i = 0; i < 2; ++i) {
      if (const auto factor = ConstantOf(f, inst->operands[i])) return times(inst->operands[1 - i], *factor);
    }
  }
  if (inst->op == Opcode::kAdd) {
    const auto first = times(inst->operands[0], 1), second = times(inst->operands[1], 1);
    if (first && second) return std::nullopt;
    return first ? first : second;
  }
  return std::nullopt;
}

}  // namespace

bool LaneVectors::WorksLaneByLane() const {
  return std::ranges::any_of(region_.blocks, [&](ir::BlockId block) {
    return std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) {
      const ir::Inst& inst = f.at_inst(id);
      return inst.op == Opcode::kAtomic && FormOf(e, region_, inst) == LaneForm::kEachLane;
    });
  });
}

// A pure value of block-level code, computed here. Null: it is not made of what is the same everywhere.
Value LaneVectors::AtBlockLevel(ValueId id, ValueMap::Overrides& values) {
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr) return nullptr;
  const bool parameter = inst->op == Opcode::kLoad && inst->attrs.space == ir::Space::kParam;
  if (ir::Info(inst->op).effect != ir::Effect::kPure && !parameter) return nullptr;
  if (inst->op == Opcode::kSpecialRegister && Info(inst->attrs.special).varies == ir::Varies::kAffineInTid)
    return nullptr;
  for (ValueId operand : inst->operands) {
    if (AtBlockLevel(operand, values) == nullptr) return nullptr;
  }
  for (ValueId result : inst->results) values.Set(result, ShapedValue{});
  if (!e.EmitInst(*inst)) return nullptr;
  return e.values.Get(id);
}

void LaneVectors::PrefetchLaterTrips(const ir::Inst& load, Value pointer) {
  if (load.attrs.space != ir::Space::kGlobal || is_wide_ || !WorksLaneByLane()) return;
  const auto counter = CounterIn(f, load.operands[0], kDepth);
  const std::optional<ValueId> step_of = counter ? StepOf(f, counter->first) : std::nullopt;
  if (!step_of) return;
  Value step;
  {
    CurrentStep::Scope scope(e.step, ScalarStep());
    ValueMap::Overrides values(e.values);
    step = AtBlockLevel(*step_of, values);
  }
  if (step == nullptr || step->getType()->isVectorTy()) return;
  step = b.CreateSExtOrTrunc(step, b.getInt64Ty());
  const auto bytes = static_cast<uint64_t>(counter->second * kTripsAhead);
  Value later = b.CreateGEP(b.getInt8Ty(), pointer, b.CreateMul(step, b.getInt64(bytes)));
  const unsigned length = width_ * static_cast<unsigned>(ir::Bytes(load.type) * load.results.size());
  for (unsigned line = 0; line < length; line += 64) {
    Value at = b.CreateConstGEP1_64(b.getInt8Ty(), later, line);
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                      {at, b.getInt32(0), b.getInt32(3), b.getInt32(1)});
  }
}

}  // namespace ptx2cpu::lowering
