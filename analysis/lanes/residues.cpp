#include "analysis/lanes/residues.h"

#include <algorithm>
#include <bit>

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::Space;
using ir::ValueId;
using Root = Residue::Root;

namespace {

constexpr uint8_t kMaxZeros = 6;  // of kMaxAlign
static_assert(uint64_t{1} << kMaxZeros == Residues::kMaxAlign);

uint8_t ZerosOfConstant(uint64_t bits) {
  return static_cast<uint8_t>(std::min<int>(std::countr_zero(bits), kMaxZeros));
}

// Windows of shared and local memory begin at multiples of this (runtime/launch/launch_job.cpp).
constexpr uint8_t kZerosOfWindow = 6, kZerosOfLocalWindow = 4;

}  // namespace

std::optional<uint64_t> OffsetInParameters(const ir::Function& f, ValueId address, uint32_t param_bytes) {
  const ir::Value& value = f.at_value(address);
  if (!value.def.valid()) return std::nullopt;
  const ir::Inst& inst = f.at_inst(value.def);
  if (inst.op == Opcode::kParamBase) return 0;
  if (inst.op != Opcode::kAdd) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const ir::Value& other = f.at_value(inst.operands[1 - i]);
    const std::optional<uint64_t> base = OffsetInParameters(f, inst.operands[i], param_bytes);
    if (!base || !other.def.valid() || f.at_inst(other.def).op != Opcode::kConst) continue;
    const uint64_t offset = *base + f.at_inst(other.def).attrs.bits;
    return offset < param_bytes ? std::optional(offset) : std::nullopt;
  }
  return std::nullopt;
}

Residues::Residues(const ir::Module& module, const ir::Function& f,
                   const std::vector<uint32_t>& shared_offset, uint32_t param_bytes)
    : module_(module), f_(f), shared_offset_(shared_offset), param_bytes_(param_bytes) {
  CollectSources();
  FindZeros();
}

const Residue& Residues::Of(ValueId value, uint64_t align) {
  const auto bits = static_cast<uint32_t>(std::countr_zero(align));
  if (found_[bits] == nullptr) found_[bits] = Find(bits);
  return (*found_[bits])[value.index];
}

bool Residues::IsInteger(ValueId value) const {
  const ir::Type type = f_.type_of(value);
  return type == ir::Type::kI8 || type == ir::Type::kI16 || type == ir::Type::kI32 || type == ir::Type::kI64;
}

void Residues::CollectSources() {
  arguments_.resize(f_.values.size());
  stored_.resize(f_.slots.size());
  for (const ir::Inst& inst : f_.insts) {
    if (!inst.block.valid()) continue;
    if (inst.op == Opcode::kSlotStore) stored_[inst.attrs.index].push_back(inst.operands[0]);
    for (const ir::Edge& edge : inst.edges) {
      const std::vector<ValueId>& params = f_.at_block(edge.to).params;
      for (size_t i = 0; i < params.size(); ++i) arguments_[params[i].index].push_back(edge.args[i]);
    }
  }
}

// -- low bits that are zero --

// From all zero down to what holds, until nothing changes: a counter that grows by 4 keeps its two bits.
void Residues::FindZeros() {
  zeros_.assign(f_.values.size(), kMaxZeros);
  auto least = [&](const std::vector<ValueId>& sources) {
    uint8_t zeros = kMaxZeros;
    for (ValueId source : sources) zeros = std::min(zeros, zeros_[source.index]);
    return zeros;
  };
  bool changed = true;
  auto lower = [&](ValueId value, uint8_t zeros) {
    if (zeros >= zeros_[value.index]) return;
    zeros_[value.index] = zeros;
    changed = true;
  };
  for (ir::BlockId entry = f_.entry; ValueId param : f_.at_block(entry).params) lower(param, 0);
  while (changed) {
    changed = false;
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ValueId param : block.params) lower(param, IsInteger(param) ? least(arguments_[param.index]) : 0);
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f_.at_inst(id);
        for (size_t i = 0; i < inst.results.size(); ++i) {
          const ValueId result = inst.results[i];
          const bool first = i == 0 && IsInteger(result);
          lower(result, !first                         ? 0
                        : inst.op == Opcode::kSlotLoad ? least(stored_[inst.attrs.index])
                                                       : ZerosOf(inst));
        }
      }
    }
  }
}

uint8_t Residues::ZerosOf(const ir::Inst& inst) const {
  auto of = [&](size_t i) -> uint8_t {
    return IsInteger(inst.operands[i]) ? zeros_[inst.operands[i].index] : 0;
  };
  auto sum = [&](int zeros) { return static_cast<uint8_t>(std::clamp<int>(zeros, 0, kMaxZeros)); };
  auto amount = [&]() -> std::optional<int> {
    const ir::Value& value = f_.at_value(inst.operands[1]);
    if (!value.def.valid() || f_.at_inst(value.def).op != Opcode::kConst) return std::nullopt;
    return static_cast<int>(std::min<uint64_t>(f_.at_inst(value.def).attrs.bits & 0xffffffff, 64));
  };
  if (inst.op == Opcode::kConst) {
    return ZerosOfConstant(inst.attrs.bits);
  }
  if (inst.op == Opcode::kSymbol) {
    return ZerosOfConstant(SymbolAddress(inst));
  }
  if (inst.op == Opcode::kTensorMemory) {
    return kZerosOfWindow;
  }
  if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub) {
    return (inst.attrs.flags & ir::kSat) != 0 ? uint8_t{0} : std::min(of(0), of(1));
  }
  if (inst.op == Opcode::kOr || inst.op == Opcode::kXor || inst.op == Opcode::kMinS ||
      inst.op == Opcode::kMinU || inst.op == Opcode::kMaxS || inst.op == Opcode::kMaxU) {
    return std::min(of(0), of(1));
  }
  if (inst.op == Opcode::kSelect) {
    return std::min(of(1), of(2));
  }
  if (inst.op == Opcode::kAnd) {
    return std::max(of(0), of(1));
  }
  if (inst.op == Opcode::kMul) {
    return sum(of(0) + of(1));
  }
  if (inst.op == Opcode::kShl) {
    return sum(of(0) + amount().value_or(0));
  }
  if (inst.op == Opcode::kShrU || inst.op == Opcode::kShrS) {
    const std::optional<int> shift = amount();
    // kMaxZeros means that many or more: no more than these are counted.
    return shift ? sum(of(0) - *shift) : uint8_t{0};
  }
  if (inst.op == Opcode::kNeg || inst.op == Opcode::kSext || inst.op == Opcode::kZext ||
      inst.op == Opcode::kTrunc || inst.op == Opcode::kBitcast || inst.op == Opcode::kPack ||
      inst.op == Opcode::kUnpack) {
    return of(0);
  }
  if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) {
    if (inst.attrs.space == Space::kGlobal || inst.attrs.space == Space::kConst) return of(0);
    if (inst.attrs.space == Space::kShared) return std::min(of(0), kZerosOfWindow);
    if (inst.attrs.space == Space::kLocal) return std::min(of(0), kZerosOfLocalWindow);
    return 0;
  }
  return 0;
}

// An address with the same low bits.
uint64_t Residues::SymbolAddress(const ir::Inst& inst) const {
  if (inst.attrs.space == Space::kLocal) return std::max(f_.locals[inst.attrs.index].align, 1u);
  const uint32_t align = std::max(module_.variables[inst.attrs.index].align, 1u);
  if (inst.attrs.space == Space::kShared) return shared_offset_[inst.attrs.index];
  return align;
}

// -- residues --

std::unique_ptr<Residues::Values> Residues::Find(uint32_t bits) const {
  auto values = std::make_unique<Values>(f_.values.size());
  bool changed = true;
  auto set = [&](ValueId value) {
    Residue& old = (*values)[value.index];
    if (old.root == Root::kValue) return;  // nothing is known any more: stays so
    const Residue now = Transfer(value, *values, bits);
    if (now == old || now.root == Root::kUnvisited) return;
    // What has changed once is not known.
    old = old.root == Root::kUnvisited ? now : Residue{Root::kValue, ir::Type::kVoid, value.index, 0};
    changed = true;
  };
  while (changed) {
    changed = false;
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ValueId param : block.params) set(param);
      for (ir::InstId id : block.insts) {
        for (ValueId result : f_.at_inst(id).results) set(result);
      }
    }
  }
  return values;
}

// The one residue of all sources. Only a parameter is known everywhere.
Residue Residues::OfSources(ValueId value, const std::vector<ValueId>& sources, const Values& known) const {
  Residue all;
  for (ValueId source : sources) {
    const Residue& one = known[source.index];
    if (one.root == Root::kUnvisited || one == all) continue;
    if (all.root != Root::kUnvisited || one.root == Root::kValue)
      return {Root::kValue, ir::Type::kVoid, value.index, 0};
    all = one;
  }
  return all;
}

namespace {

// The residue of a sum or difference modulo 2^bits, where one side is a known number.
Residue OfSum(const ir::Inst& inst, Residue a, Residue b, uint64_t mask, const Residue& itself) {
  if ((inst.attrs.flags & ir::kSat) != 0) return itself;
  if (a.root == Root::kUnvisited || b.root == Root::kUnvisited) return {};
  if (a.root == Root::kNone && inst.op == Opcode::kAdd) std::swap(a, b);
  if (b.root != Root::kNone) return itself;
  a.offset = (inst.op == Opcode::kAdd ? a.offset + b.offset : a.offset - b.offset) & mask;
  return a;
}

}  // namespace

Residue Residues::Transfer(ValueId id, const Values& known, uint32_t bits) const {
  const Residue itself{Root::kValue, ir::Type::kVoid, id.index, 0};
  if (!IsInteger(id)) return itself;
  if (zeros_[id.index] >= bits) return {Root::kNone, ir::Type::kVoid, 0, 0};
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const ir::Value& value = f_.at_value(id);
  if (!value.def.valid())
    return arguments_[id.index].empty() || value.block == f_.entry
               ? itself
               : OfSources(id, arguments_[id.index], known);
  const ir::Inst& inst = f_.at_inst(value.def);
  auto of = [&](size_t i) { return known[inst.operands[i].index]; };
  auto integer = [&](size_t i) { return IsInteger(inst.operands[i]); };
  if (inst.op == Opcode::kConst) {
    return {Root::kNone, ir::Type::kVoid, 0, inst.attrs.bits & mask};
  }
  if (inst.op == Opcode::kSymbol) {
    if (inst.attrs.space == Space::kShared)
      return {Root::kNone, ir::Type::kVoid, 0, SymbolAddress(inst) & mask};
    return itself;
  }
  if (inst.op == Opcode::kLoad) {
    if (inst.attrs.space != Space::kParam || !f_.is_kernel) return itself;
    const auto offset = OffsetInParameters(f_, inst.operands[0], param_bytes_);
    if (!offset) return itself;
    return {Root::kParameter, inst.type, *offset + value.number * static_cast<uint64_t>(ir::Bytes(inst.type)),
            0};
  }
  if (inst.op == Opcode::kSlotLoad) {
    return OfSources(id, stored_[inst.attrs.index], known);
  }
  if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub) return OfSum(inst, of(0), of(1), mask, itself);
  if (inst.op == Opcode::kOr || inst.op == Opcode::kXor) {
    const Residue a = of(0), b = of(1);
    if (a.root == Root::kUnvisited || b.root == Root::kUnvisited) return {};
    return b.IsZero() ? a : a.IsZero() ? b : itself;
  }
  if (inst.op == Opcode::kSelect) {
    return OfSources(id, {inst.operands[1], inst.operands[2]}, known);
  }
  if (inst.op == Opcode::kSext || inst.op == Opcode::kZext || inst.op == Opcode::kTrunc ||
      inst.op == Opcode::kBitcast) {
    return integer(0) ? of(0) : itself;
  }
  if (inst.op == Opcode::kPack || inst.op == Opcode::kUnpack) {
    return integer(0) && value.number == 0 ? of(0) : itself;
  }
  if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) {
    const bool same = inst.attrs.space == Space::kGlobal || inst.attrs.space == Space::kConst ||
                      (inst.attrs.space == Space::kShared && bits <= kZerosOfWindow) ||
                      (inst.attrs.space == Space::kLocal && bits <= kZerosOfLocalWindow);
    return same ? of(0) : itself;
  }
  return itself;
}

}  // namespace ptx2cpu::analysis
