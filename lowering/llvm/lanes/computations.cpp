#include "lowering/llvm/lanes/computations.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

Status LaneComputations::EmitPure(const ir::Inst& inst) {
  for (ValueId result : inst.results) e.values.ForgetSequence(result);
  if (TRY(v.halves.EmitJoined(inst))) return {};
  if (SetPlaceInRow(inst)) return {};
  const bool uniform = std::ranges::all_of(inst.results, [&](ValueId r) { return ShapeOf(r).uniform(); });
  if (uniform) return EmitScalar(inst);
  if (v.runs.IsDivided(inst)) return v.runs.EmitDivided(inst);
  TRY_STATUS(e.EmitInst(inst));
  if (Value known = KnownLowBits(inst)) e.values.Set(inst.results[0], known);
  if (inst.results.size() != 1 || !ShapeOf(inst.results[0]).affine()) return {};
  const ValueId result = inst.results[0];
  Value vector = e.values.Get(result), holds = HoldsAfter(inst);
  ValueMap::Overrides of_first(e.values);
  if (inst.op == Opcode::kSelect) {
    Value condition = e.values.Get(inst.operands[0]);
    if (condition->getType()->isVectorTy()) condition = b.CreateExtractElement(condition, uint64_t{0});
    of_first.Set(inst.operands[0], {condition, nullptr, nullptr});
  }
  TRY_STATUS(EmitScalar(inst));
  Value first = e.values.Get(result);
  TwoRuns runs;
  if (ShapeOf(result).guess) runs = TRY(v.runs.RunsOf(inst));
  if (ShapeOf(result).guess && v.runs.StepsTwice(inst))
    runs =
        v.by_sight
            .Met(vector, ShapeOf(result).stride, {llvm::Constant::getAllOnesValue(VectorOf(b.getInt1Ty()))})
            .runs;
  e.values.SetShaped(result, {vector, first, holds, runs});
  return {};
}

// For lanes in one row of the data: the quotient is known, and remainders are counted from the start of the
// row's part.
bool LaneComputations::SetPlaceInRow(const ir::Inst& inst) {
  if (e.step->places == nullptr || inst.results.size() != 1) return false;
  const auto known = e.step->places->results.find(inst.results[0].index);
  if (known == e.step->places->results.end()) return false;
  if (analysis::IsQuotient(inst.op)) {
    e.values.Set(inst.results[0], known->second);
    return true;
  }
  Value distance = b.CreateSub(e.step->tid[0], e.step->places->begin, "", true, true);
  Value first = b.CreateAdd(known->second, b.CreateZExt(distance, known->second->getType()));
  e.values.SetShaped(inst.results[0], {v.bounds.SequenceFrom(inst.results[0], first), first, nullptr});
  return true;
}

// Whether the result is the sequence that its shape promises: its operands are, and what the rule of the
// operation supposes is true. Null: always.
Value LaneComputations::HoldsAfter(const ir::Inst& inst) {
  Value holds = nullptr;
  auto also = [&](Value other) {
    if (other != nullptr) holds = holds == nullptr ? other : b.CreateLogicalAnd(holds, other);
  };
  for (ValueId operand : inst.operands) also(e.values.Shaped(operand).holds);
  if (!ShapeOf(inst.results[0]).guess) return holds;
  if (inst.op == Opcode::kZext || inst.op == Opcode::kSext)
    also(HoldsWidened(inst, e.values.Shaped(inst.operands[0]).first, ShapeOf(inst.results[0]).stride));
  if (inst.op == Opcode::kMinS || inst.op == Opcode::kMinU || inst.op == Opcode::kMaxS ||
      inst.op == Opcode::kMaxU)
    also(HoldsClamped(inst, e.values.Shaped(inst.operands[PlaceOfClamp(inst)]).first,
                      ShapeOf(inst.results[0]).stride));
  if (inst.op == Opcode::kSelect) also(HoldsChosen(inst));
  return holds;
}

// The operand of a clamp that is no bound.
size_t LaneComputations::PlaceOfClamp(const ir::Inst& inst) const {
  return ShapeOf(inst.operands[0]).affine() ? 0 : 1;
}

// No lane of the sequence is beyond the bound, nor has it wrapped around.
Value LaneComputations::HoldsClamped(const ir::Inst& inst, Value start, int64_t stride) {
  const bool is_signed = inst.op == Opcode::kMinS || inst.op == Opcode::kMaxS;
  const bool is_min = inst.op == Opcode::kMinS || inst.op == Opcode::kMinU;
  auto wide = [&](Value value) {
    return is_signed ? b.CreateSExt(value, b.getInt64Ty()) : b.CreateZExt(value, b.getInt64Ty());
  };
  const int64_t way = stride * (width_ - 1);
  Value first = wide(start), bound = wide(e.values.Get(inst.operands[1 - PlaceOfClamp(inst)]));
  Value last = b.CreateAdd(first, b.getInt64(static_cast<uint64_t>(way)), "", false, true);
  Value highest = way < 0 ? first : last, lowest = way < 0 ? last : first;
  Value inside = is_min ? b.CreateICmpSLE(highest, bound) : b.CreateICmpSGE(lowest, bound);
  if (is_min == (way >= 0)) return inside;  // the bound is a 32-bit number, so that the other end is one
  const int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : int64_t{UINT32_MAX};
  Value fits = is_min ? b.CreateICmpSGE(lowest, b.getInt64(static_cast<uint64_t>(least)))
                      : b.CreateICmpSLE(highest, b.getInt64(static_cast<uint64_t>(most)));
  return b.CreateAnd(inside, fits);
}

// All lanes choose the same sequence.
Value LaneComputations::HoldsChosen(const ir::Inst& inst) {
  Value condition = e.values.Get(inst.operands[0]);
  if (!condition->getType()->isVectorTy()) return nullptr;
  Value bits = Bits({condition});
  Value all = b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
  return b.CreateOr(all, b.CreateICmpEQ(bits, Literal(bits, 0)));
}

// A 32-bit sequence is one of 64 bits too where it does not wrap around.
Value LaneComputations::HoldsWidened(const ir::Inst& inst, Value first, int64_t stride) {
  LaneShape shape = ShapeOf(inst.results[0]);
  shape.stride = stride;
  const std::optional<int64_t> way = v.bounds.WayOf(shape, 32);
  if (!way) return b.getFalse();
  const bool is_signed = inst.op == Opcode::kSext;
  if (*way < 0) {
    Value least = b.getInt32(static_cast<uint32_t>((is_signed ? int64_t{INT32_MIN} : 0) - *way));
    return is_signed ? b.CreateICmpSGE(first, least) : b.CreateICmpUGE(first, least);
  }
  Value most =
      b.getInt32(static_cast<uint32_t>((is_signed ? int64_t{INT32_MAX} : int64_t{UINT32_MAX}) - *way));
  return is_signed ? b.CreateICmpSLE(first, most) : b.CreateICmpULE(first, most);
}

}  // namespace ptx2cpu::lowering
