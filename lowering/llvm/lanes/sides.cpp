#include "lowering/llvm/lanes/sides.h"

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

constexpr uint64_t kVectorsOfRow = 4;    // rows of fewer are divided too often
constexpr int64_t kMaxStride = 1 << 24;  // of what is divided

bool IsRest(Opcode op) { return op == Opcode::kRemS || op == Opcode::kRemU; }
bool IsEquality(ir::Compare compare) { return compare == ir::Compare::kEq || compare == ir::Compare::kNe; }

}  // namespace

// A flag that the region reads, and sets again from a comparison with a bound.
bool LaneSides::IsFlagOfTrips(ValueId condition) const {
  const ir::InstId def = f.at_value(condition).def;
  if (!def.valid() || f.at_inst(def).op != Opcode::kSlotLoad) return false;
  const uint32_t slot = f.at_inst(def).attrs.index;
  bool is_set = false;
  for (ir::BlockId block : region_.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op != Opcode::kSlotStore || inst.attrs.index != slot) continue;
      if (!IsBoundOrNumber(inst.operands[0], kMaxDepth)) return false;
      is_set = true;
    }
  }
  return is_set;
}

// Or one of them, by the way that lanes take.
bool LaneSides::IsBoundOrNumber(ValueId value, int depth) const {
  const ir::InstId def = f.at_value(value).def;
  if (def.valid()) return f.at_inst(def).op == Opcode::kConst || v.bounds.IsBound(value);
  const ir::BlockId block = f.at_value(value).block;
  if (depth == 0 || !block.valid()) return false;
  const std::vector<ValueId>& params = f.at_block(block).params;
  const auto number = static_cast<size_t>(std::ranges::find(params, value) - params.begin());
  return std::ranges::all_of(region_.blocks, [&](ir::BlockId from) {
    return std::ranges::all_of(f.successors(from), [&](const ir::Edge& edge) {
      return edge.to != block || IsBoundOrNumber(edge.args[number], depth - 1);
    });
  });
}

bool LaneSides::PartsRarely(ValueId condition, int depth) const {
  if (v.bounds.IsBound(condition) || IsFlagOfTrips(condition)) return true;
  const ir::InstId def = f.at_value(condition).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  if (inst.op == Opcode::kAnd || inst.op == Opcode::kOr || inst.op == Opcode::kNot) {
    return std::ranges::all_of(inst.operands, [&](ValueId operand) {
      return ShapeIn(e, region_, operand).uniform() || PartsRarely(operand, depth - 1);
    });
  }
  if (inst.op != Opcode::kIcmp) return false;
  const size_t limit = ShapeIn(e, region_, inst.operands[0]).uniform() ? 0 : 1;
  if (!ShapeIn(e, region_, inst.operands[limit]).uniform()) return false;
  // The same place in every block parts lanes in every block.
  const std::optional<LaneShape> place = ShapeOfPlace(inst.operands[1 - limit], kMaxDepth);
  return place && place->base >= analysis::Uniformity::kBlock;
}

// To what is the same number farther on in all lanes; sums that saturate are not.
bool LaneSides::IsStep(const ir::Inst& inst) const {
  if ((inst.attrs.flags & ir::kSat) != 0) return false;
  if (inst.op == Opcode::kSub) return ShapeIn(e, region_, inst.operands[1]).uniform();
  return inst.op == Opcode::kAdd && std::ranges::any_of(inst.operands, [&](ValueId operand) {
           return ShapeIn(e, region_, operand).uniform();
         });
}

bool LaneSides::IsDivision(const ir::Inst& inst) const {
  const bool divides = IsRest(inst.op) || inst.op == Opcode::kDivS || inst.op == Opcode::kDivU;
  if (!divides || inst.type != ir::Type::kI32) return false;
  const LaneShape dividend = ShapeIn(e, region_, inst.operands[0]);
  if (!dividend.affine() || dividend.stride <= 0 || dividend.stride > kMaxStride ||
      !ShapeIn(e, region_, inst.operands[1]).uniform())
    return false;
  const ir::InstId divisor = f.at_value(inst.operands[1]).def;
  if (!divisor.valid() || f.at_inst(divisor).op != Opcode::kConst) return true;
  const uint64_t number = f.at_inst(divisor).attrs.bits;
  return number >= kVectorsOfRow * width_ * static_cast<uint64_t>(dividend.stride) && number <= INT32_MAX;
}

std::optional<LaneShape> LaneSides::ShapeOfPlace(ValueId value, int depth) const {
  const LaneShape shape = ShapeIn(e, region_, value);
  if (shape.affine()) return shape;
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || depth == 0) return std::nullopt;
  const ir::Inst& inst = f.at_inst(def);
  if (IsStep(inst)) {
    const size_t other = ShapeIn(e, region_, inst.operands[0]).uniform() ? 1 : 0;
    return ShapeOfPlace(inst.operands[other], depth - 1);
  }
  if (!IsDivision(inst)) return std::nullopt;
  LaneShape divided = ShapeIn(e, region_, inst.operands[0]);
  if (!IsRest(inst.op)) divided.stride = 0;
  return divided;
}

// Whether what was computed for the value is known in the block: not where it was computed in code that may
// have been skipped, and was not kept for others.
bool LaneSides::IsThere(ValueId value, ir::BlockId at) const {
  const ir::BlockId made = f.at_value(value).block;
  if (!f.at_value(value).def.valid() || made == at || region_.level_of[made.index] == LaneRegion::kNone)
    return true;
  const bool same_level = region_.level_of[made.index] == region_.level_of[at.index];
  return region_.used_elsewhere[value.index] || (same_level && v.flow.IsOpen(made));
}

bool LaneSides::AreThere(const ir::Inst& inst, ir::BlockId at) const {
  return std::ranges::all_of(inst.operands, [&](ValueId operand) { return IsThere(operand, at); });
}

std::optional<LaneSides::Place> LaneSides::PlaceOf(ValueId value, ir::BlockId at, int depth) {
  const ShapedValue known = e.values.Shaped(value);
  if (ShapeIn(e, region_, value).affine()) {
    if (known.first == nullptr) return std::nullopt;
    return Place{known.first, ShapeIn(e, region_, value).stride, known.holds};
  }
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || depth == 0) return std::nullopt;
  const ir::Inst& inst = f.at_inst(def);
  if (!AreThere(inst, at)) return std::nullopt;
  if (IsStep(inst)) {
    const size_t other = ShapeIn(e, region_, inst.operands[0]).uniform() ? 1 : 0;
    std::optional<Place> place = PlaceOf(inst.operands[other], at, depth - 1);
    if (!place) return std::nullopt;
    Value step = e.values.Get(inst.operands[1 - other]);
    place->first =
        inst.op == Opcode::kSub ? b.CreateSub(place->first, step) : b.CreateAdd(place->first, step);
    return place;
  }
  if (!IsDivision(inst)) return std::nullopt;
  const std::optional<Place> dividend = PlaceOf(inst.operands[0], at, 0);
  if (!dividend) return std::nullopt;
  const LaneRuns::Divided divided =
      v.runs.DivideFirst(inst, dividend->first, dividend->stride, dividend->holds);
  const auto way = static_cast<uint64_t>(dividend->stride * (width_ - 1));
  Value steps_never =
      b.CreateLogicalAnd(divided.steps_once, b.CreateICmpUGT(divided.to_step, Literal(divided.to_step, way)));
  if (IsRest(inst.op)) return Place{divided.rest, dividend->stride, steps_never};
  return Place{divided.quotient, 0, steps_never};
}

std::optional<LaneSides::Sides> LaneSides::Of(ValueId condition, ir::BlockId at, int depth) {
  if (ShapeIn(e, region_, condition).uniform()) {
    Value known = e.values.Get(condition);
    return Sides{known, b.CreateNot(known)};
  }
  const ir::InstId def = f.at_value(condition).def;
  if (!def.valid() || depth == 0) return std::nullopt;
  const ir::Inst& inst = f.at_inst(def);
  if (!AreThere(inst, at)) return std::nullopt;
  if (inst.op == Opcode::kNot) {
    const std::optional<Sides> sides = Of(inst.operands[0], at, depth - 1);
    return sides ? std::optional(Sides{sides->none, sides->all}) : std::nullopt;
  }
  if (inst.op == Opcode::kAnd || inst.op == Opcode::kOr) {
    const std::optional<Sides> first = Of(inst.operands[0], at, depth - 1);
    const std::optional<Sides> second = first ? Of(inst.operands[1], at, depth - 1) : std::nullopt;
    if (!second) return std::nullopt;
    if (inst.op == Opcode::kAnd)
      return Sides{b.CreateAnd(first->all, second->all), b.CreateOr(first->none, second->none)};
    return Sides{b.CreateOr(first->all, second->all), b.CreateAnd(first->none, second->none)};
  }
  return inst.op == Opcode::kIcmp ? OfCompare(inst, at) : std::nullopt;
}

std::optional<LaneSides::Sides> LaneSides::OfCompare(const ir::Inst& compare, ir::BlockId at) {
  std::optional<Predicate> predicate = PredicateOf(compare.attrs.compare);
  const size_t bound = ShapeIn(e, region_, compare.operands[0]).uniform() ? 0 : 1;
  if (!predicate || !ShapeIn(e, region_, compare.operands[bound]).uniform()) return std::nullopt;
  const std::optional<Place> place = PlaceOf(compare.operands[1 - bound], at, kMaxDepth);
  if (!place) return std::nullopt;
  LaneShape shape{.stride = place->stride};
  const std::optional<int64_t> way = v.bounds.WayOf(shape, place->first->getType()->getIntegerBitWidth());
  if (!way) return std::nullopt;
  if (bound == 0) predicate = llvm::CmpInst::getSwappedPredicate(*predicate);
  const Predicate other = llvm::CmpInst::getInversePredicate(*predicate);
  Value limit = e.values.Get(compare.operands[bound]);
  Sides sides{};
  if (*way == 0) {
    sides.all = b.CreateICmp(*predicate, place->first, limit);
    sides.none = b.CreateNot(sides.all);
  } else if (IsEquality(compare.attrs.compare)) {
    Value apart = *way > 0 ? b.CreateSub(limit, place->first) : b.CreateSub(place->first, limit);
    Value none = b.CreateICmpUGT(apart, Literal(apart, static_cast<uint64_t>(std::abs(*way))));
    sides = *predicate == Predicate::ICMP_EQ ? Sides{b.getFalse(), none} : Sides{none, b.getFalse()};
  } else {
    sides = {v.bounds.AllWithin(*predicate, place->first, *way, limit),
             v.bounds.AllWithin(other, place->first, *way, limit)};
  }
  if (place->holds == nullptr) return sides;
  return Sides{b.CreateLogicalAnd(place->holds, sides.all), b.CreateLogicalAnd(place->holds, sides.none)};
}

}  // namespace ptx2cpu::lowering
