#include "lowering/llvm/lanes/bounds.h"

#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/emit/compare.h"
#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;
using Predicate = llvm::CmpInst::Predicate;

namespace {
bool IsGreater(Predicate predicate) {
  return predicate == Predicate::ICMP_SGT || predicate == Predicate::ICMP_SGE ||
         predicate == Predicate::ICMP_UGT || predicate == Predicate::ICMP_UGE;
}
}  // namespace

bool LaneBounds::IsBound(ValueId condition, int depth) const {
  const ir::InstId def = f.at_value(condition).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  const LaneShape shape = ShapeIn(e, region_, condition);
  if (shape.uniform()) return true;
  if (inst.op == Opcode::kAnd || inst.op == Opcode::kOr || inst.op == Opcode::kXor) {
    return std::ranges::all_of(inst.operands, [&](ValueId operand) { return IsBound(operand, depth - 1); });
  }
  if (inst.op != Opcode::kIcmp || inst.attrs.compare == ir::Compare::kEq ||
      inst.attrs.compare == ir::Compare::kNe)
    return false;
  const LaneShape shapes[] = {ShapeIn(e, region_, inst.operands[0]), ShapeIn(e, region_, inst.operands[1])};
  const size_t place = shapes[0].affine() ? 0 : 1;
  const LaneShape& x = shapes[place];
  if (!x.affine() || !(shapes[1 - place].affine() || shapes[1 - place].uniform())) return false;
  // A constant parts the lanes of some step in every block, unless it lies between steps.
  const ir::InstId limit = f.at_value(inst.operands[1 - place]).def;
  if (x.base >= analysis::Uniformity::kBlock || !limit.valid() || f.at_inst(limit).op != Opcode::kConst)
    return true;
  return x.stride == 1 && (uint64_t{1} << x.align) >= width_ && f.at_inst(limit).attrs.bits % width_ == 0;
}

std::optional<LaneBounds::Bound> LaneBounds::BoundOf(ValueId condition, bool holds) const {
  ir::InstId def = f.at_value(condition).def;
  while (def.valid() && f.at_inst(def).op == Opcode::kNot) {
    holds = !holds;
    def = f.at_value(f.at_inst(def).operands[0]).def;
  }
  if (!def.valid() || f.at_inst(def).op != Opcode::kIcmp) return std::nullopt;
  const ir::Inst& compare = f.at_inst(def);
  const std::optional<Predicate> order = PredicateOf(compare.attrs.compare);
  const size_t place = ShapeIn(e, region_, compare.operands[0]).affine() ? 0 : 1;
  const LaneShape shape = ShapeIn(e, region_, compare.operands[place]),
                  limit = ShapeIn(e, region_, compare.operands[1 - place]);
  if (!order || llvm::ICmpInst::isEquality(*order) || !shape.affine() || shape.guess || !limit.uniform())
    return std::nullopt;
  if (!WayOf(shape, static_cast<unsigned>(ir::Bits(f.type_of(compare.operands[place]))))) return std::nullopt;
  Predicate predicate = place == 0 ? *order : llvm::CmpInst::getSwappedPredicate(*order);
  if (!holds) predicate = llvm::CmpInst::getInversePredicate(predicate);
  return Bound{compare.operands[place], compare.operands[1 - place], predicate};
}

std::optional<int64_t> LaneBounds::WayOf(const LaneShape& shape, unsigned bits) const {
  int64_t way = 0;
  if (__builtin_mul_overflow(shape.stride, static_cast<int64_t>(width_) - 1, &way)) return std::nullopt;
  const int64_t most = bits < 63 ? (int64_t{1} << bits) - 1 : INT64_MAX;
  return way > most || way < -most ? std::nullopt : std::optional(way);
}

// The places do not wrap around, and that of the lane next to the bound is within it.
Value LaneBounds::AllWithin(const Bound& bound) {
  Value first = e.values.Shaped(bound.place).first;
  const int64_t way = *WayOf(ShapeOf(bound.place), first->getType()->getIntegerBitWidth());
  return AllWithin(bound.predicate, first, way, e.values.Get(bound.limit));
}

Value LaneBounds::AllWithin(Predicate predicate, Value first, int64_t way, Value limit) {
  const unsigned bits = first->getType()->getIntegerBitWidth();
  const bool is_signed = llvm::CmpInst::isSigned(predicate);
  auto constant = [&](const llvm::APInt& value) { return llvm::ConstantInt::get(first->getType(), value); };
  const llvm::APInt far(bits, static_cast<uint64_t>(way), true);
  Value last = b.CreateAdd(first, constant(far)), fits;
  if (way >= 0) {
    const llvm::APInt most =
        (is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits)) - far;
    fits = b.CreateICmp(is_signed ? Predicate::ICMP_SLE : Predicate::ICMP_ULE, first, constant(most));
  } else {
    const llvm::APInt least =
        (is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits)) - far;
    fits = b.CreateICmp(is_signed ? Predicate::ICMP_SGE : Predicate::ICMP_UGE, first, constant(least));
  }
  const bool is_last = IsGreater(predicate) == (way < 0);
  return b.CreateAnd(fits, b.CreateICmp(predicate, is_last ? last : first, limit));
}

// The vector of a sequence, where only the first lane's value was kept.
Value LaneBounds::SequenceFrom(ValueId id, Value first) {
  const int64_t stride = ShapeOf(id).stride;
  llvm::SmallVector<llvm::Constant*, 64> distances;
  for (unsigned lane = 0; lane < width_; ++lane)
    distances.push_back(llvm::ConstantInt::get(
        first->getType(), llvm::APInt(first->getType()->getIntegerBitWidth(),
                                      static_cast<uint64_t>(stride * static_cast<int64_t>(lane)), true)));
  return b.CreateAdd(Vector(first), llvm::ConstantVector::get(distances));
}

}  // namespace ptx2cpu::lowering
