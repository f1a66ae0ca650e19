// Trips of a loop that all lanes take.
//
// Where masks cost (machines without AVX-512), and where a step is wide (lane_width.h), a loop whose lanes
// leave at the bounds of the data exists twice: trips that all lanes take, without masks, and the rest:
//
//   while (any(i < n)) {...}   ->   while (all(i < n)) {... without masks};  while (any(i < n)) {... under
//   masks}
//
// Where the lanes' places in the data are a sequence, the test of all lanes is one of the first and last
// lane's places: vectors of places, and of bits, are not kept in the loop.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/emit/compare.h"
#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;
using Predicate = llvm::CmpInst::Predicate;

namespace {

constexpr size_t kMaxVersioned = 200;  // instructions of a loop that is emitted twice

Value Known(llvm::IRBuilder<>& b, Value holds) { return holds != nullptr ? holds : b.getTrue(); }

bool IsGreater(Predicate predicate) {
  return predicate == Predicate::ICMP_SGT || predicate == Predicate::ICMP_SGE ||
         predicate == Predicate::ICMP_UGT || predicate == Predicate::ICMP_UGE;
}

}  // namespace

// Where lanes leave at bounds, and access memory that all of them access. Lanes that part for a while within
// a trip do so under masks of their own in either version.
bool LaneVectors::PaysToVersion(const LaneRegion::Item& item, const Mask& mask) const {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  if (loop.leaves_together || (!is_wide_ && e.m.traits.has_avx512)) return false;
  size_t instructions = 0;
  bool accesses = false, parts = false;
  for (BlockId block : region_.blocks) {
    if (!region_.Contains(item.loop, block)) continue;
    instructions += f.at_block(block).insts.size();
    accesses |= std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) { return IsOfVector(id); });
    if (region_.level_of[block.index] != item.loop) continue;
    // Lanes that leave at something else than a bound soon leave in every trip.
    const ir::Inst& end = f.terminator(block);
    if (end.operands.empty() || IsBound(end.operands[0], kMaxDepthOfBound)) continue;
    if (EndsTrips(item.loop, block)) return false;
    parts = true;
  }
  if (parts) accesses = !is_wide_ && AllAccess(item.loop);
  return accesses && instructions <= kMaxVersioned;
}

bool LaneVectors::IsOfVector(ir::InstId id) const {
  const ir::Inst& inst = f.at_inst(id);
  const bool access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
  return access && !ShapeIn(e, region_, inst.operands[0]).uniform();
}

// Whether the block decides about the lanes' next trip.
bool LaneVectors::EndsTrips(uint32_t loop, BlockId block) const {
  const LaneRegion::Level& level = region_.levels[loop];
  auto from_here = [&](EdgeRef edge) { return edge.from == block; };
  return std::ranges::any_of(level.latches, from_here) || std::ranges::any_of(level.exits, from_here);
}

// Whether a block that all lanes of the loop reach accesses memory of each of them.
bool LaneVectors::AllAccess(uint32_t loop) const {
  const std::vector<LaneRegion::Item>& items = region_.levels[loop].items;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool reached_by_all = i == 0 || items[i].same_as == 0;
    if (!reached_by_all || items[i].loop != LaneRegion::kNone) continue;
    const std::vector<ir::InstId>& insts = f.at_block(items[i].block).insts;
    if (std::ranges::any_of(insts, [&](ir::InstId id) { return IsOfVector(id); })) return true;
  }
  return false;
}

// -- one bound --

// Of a loop that ends there alone.
std::optional<LaneVectors::Bound> LaneVectors::BoundOfTrips(const LaneRegion::Item& item) const {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  if (loop.latches.size() != 1 || loop.exits.size() != 1 || loop.latches[0].from != loop.exits[0].from)
    return std::nullopt;
  const ir::Inst& end = f.terminator(loop.latches[0].from);
  if (end.op != Opcode::kCondBr) return std::nullopt;
  return BoundOf(end.operands[0], loop.latches[0].number == 0);
}

std::optional<LaneVectors::Bound> LaneVectors::BoundOf(ValueId condition, bool holds) const {
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

std::optional<int64_t> LaneVectors::WayOf(const LaneShape& shape, unsigned bits) const {
  int64_t way = 0;
  if (__builtin_mul_overflow(shape.stride, static_cast<int64_t>(width_) - 1, &way)) return std::nullopt;
  const int64_t most = bits < 63 ? (int64_t{1} << bits) - 1 : INT64_MAX;
  return way > most || way < -most ? std::nullopt : std::optional(way);
}

// The places do not wrap around, and that of the lane next to the bound is within it.
Value LaneVectors::AllWithin(const Bound& bound) {
  Value first = e.values.Shaped(bound.place).first, limit = e.values.Get(bound.limit);
  const unsigned bits = first->getType()->getIntegerBitWidth();
  const int64_t way = *WayOf(ShapeOf(bound.place), bits);
  const bool is_signed = llvm::CmpInst::isSigned(bound.predicate);
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
  const bool is_last = IsGreater(bound.predicate) == (way < 0);
  return b.CreateAnd(fits, b.CreateICmp(bound.predicate, is_last ? last : first, limit));
}

// The vector of a sequence, where only the first lane's value was kept.
Value LaneVectors::SequenceFrom(ValueId id, Value first) {
  const int64_t stride = ShapeOf(id).stride;
  llvm::SmallVector<llvm::Constant*, 64> distances;
  for (unsigned lane = 0; lane < width_; ++lane)
    distances.push_back(llvm::ConstantInt::get(
        first->getType(), llvm::APInt(first->getType()->getIntegerBitWidth(),
                                      static_cast<uint64_t>(stride * static_cast<int64_t>(lane)), true)));
  return b.CreateAdd(Vector(first), llvm::ConstantVector::get(distances));
}

void LaneVectors::RestoreSequences(const LaneRegion::Item& item, LoopState& state) {
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (ShapeOf(params[i]).affine() && !ShapeOf(params[i]).guess)
      state.params[i].value = SequenceFrom(params[i], state.params[i].first);
  }
}

// Whether a condition is true for all lanes, and whether for none, where both are known without a vector:
// bounds, and what is made of them. A condition that holds for some lanes may be neither.
std::optional<LaneVectors::Sides> LaneVectors::SidesOf(ValueId condition, int depth) {
  if (ShapeIn(e, region_, condition).uniform()) {
    Value known = e.values.Get(condition);
    return Sides{known, b.CreateNot(known)};
  }
  const ir::InstId def = f.at_value(condition).def;
  if (!def.valid() || depth == 0) return std::nullopt;
  const ir::Inst& inst = f.at_inst(def);
  if (inst.op == Opcode::kAnd || inst.op == Opcode::kOr) {
    const std::optional<Sides> first = SidesOf(inst.operands[0], depth - 1);
    const std::optional<Sides> second = first ? SidesOf(inst.operands[1], depth - 1) : std::nullopt;
    if (!second) return std::nullopt;
    if (inst.op == Opcode::kAnd)
      return Sides{b.CreateAnd(first->all, second->all), b.CreateOr(first->none, second->none)};
    return Sides{b.CreateOr(first->all, second->all), b.CreateAnd(first->none, second->none)};
  }
  const std::optional<Bound> bound = BoundOf(condition, true);
  if (!bound) return std::nullopt;
  return Sides{AllWithin(*bound), AllWithin(*BoundOf(condition, false))};
}

// The condition as one bit; steps in which it is true for some lanes only leave.
Value LaneVectors::AllOrNone(ValueId id, Value condition) {
  std::optional<Sides> sides = SidesOf(id, kMaxDepthOfBound);
  if (!sides) {
    Value bits = Bits({condition});
    sides = Sides{b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType())),
                  b.CreateICmpEQ(bits, Literal(bits, 0))};
  }
  llvm::BasicBlock* together = e.body.NewBlock("together");
  b.CreateCondBr(b.CreateOr(sides->all, sides->none), together, mixed_);
  b.SetInsertPoint(together);
  return sides->all;
}

// -- the loop --

// One trip of all lanes; `bounded`: it can end early only where its bound is met.
Status LaneVectors::EmitTrip(const LaneRegion::Item& item, const Mask& all, llvm::BasicBlock* mixed,
                             bool bounded) {
  auto* outer = std::exchange(mixed_, mixed);
  const uint32_t outer_level = std::exchange(mixed_level_, item.loop);
  const bool had_effects = std::exchange(has_effects_, false);
  const BlockId latch = bounded ? region_.levels[item.loop].latches[0].from : BlockId{};
  const BlockId outer_bounded = std::exchange(bounded_, latch);
  TRY_STATUS(EmitLevel(item.loop, all));
  bounded_ = outer_bounded;
  mixed_ = outer;
  mixed_level_ = outer_level;
  has_effects_ |= had_effects;
  return {};
}

// The parameters and live values at the end of a trip; `state` is that of its begin.
LaneVectors::LoopState LaneVectors::StateAfterTrip(const LaneRegion::Item& item, LoopState state,
                                                   const std::vector<LoopPhis>& phis) {
  llvm::BasicBlock* latch = b.GetInsertBlock();
  auto of = [&](llvm::PHINode* phi) -> Value {
    return phi == nullptr ? nullptr : phi->getIncomingValueForBlock(latch);
  };
  for (size_t i = 0; i < phis.size(); ++i)
    state.params[i] = {of(phis[i].value), of(phis[i].first), of(phis[i].holds)};
  const std::vector<ValueId>& live_out = region_.levels[item.loop].live_out;
  for (size_t i = 0; i < live_out.size(); ++i) state.out[i] = Vector(e.values.Get(live_out[i]));
  return state;
}

// From the end of a trip to the next one, to the masked loop, or out. Returns the blocks that go out because
// no lane is left for the masked loop; `at_end` gets the lanes that are left.
std::vector<llvm::BasicBlock*> LaneVectors::EmitLeaving(const LaneRegion::Item& item, const TripBlocks& to,
                                                        const std::optional<Bound>& bound,
                                                        LoopState& at_end) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  if (!bound) {
    at_end.mask = Either(loop.latches);
    for (size_t i = 0; i < loop.exits.size(); ++i) at_end.left[i] = edges_.at(loop.exits[i]).lanes;
    Value again = AnyOf(at_end.mask);
    b.CreateCondBr(AllOf(at_end.mask), to.head, to.part);
    b.SetInsertPoint(to.part);
    b.CreateCondBr(again, to.rest, to.done);
    return {};
  }
  // Mostly all lanes leave together, which takes no vectors either.
  llvm::BasicBlock* ended = e.body.NewBlock("trips_ended");
  Value none = AllWithin({bound->place, bound->limit, llvm::CmpInst::getInversePredicate(bound->predicate)});
  b.CreateCondBr(AllWithin(*bound), to.head, ended);
  b.SetInsertPoint(ended);
  b.CreateCondBr(none, to.done, to.part);
  b.SetInsertPoint(to.part);
  RestoreSequences(item, at_end);
  at_end.mask = {b.CreateICmp(bound->predicate,
                              SequenceFrom(bound->place, e.values.Shaped(bound->place).first),
                              Vector(e.values.Get(bound->limit)))};
  at_end.left[0] = b.CreateNot(at_end.mask.lanes);
  b.CreateCondBr(AnyOf(at_end.mask), to.rest, to.done);
  return {ended};
}

// What the loop leaves, of the masked loop or of whole trips alone; `none`: the lanes that have left when no
// lane is left for the masked loop.
void LaneVectors::JoinTrips(const LaneRegion::Item& item, const TripBlocks& blocks,
                            const std::vector<llvm::BasicBlock*>& all_left, const LoopState& at_end,
                            Value none) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(blocks.done);
  b.SetInsertPoint(blocks.done);
  auto join = [&](Value from_rest, Value from_part, Value from_trips) {
    llvm::PHINode* phi = b.CreatePHI(from_rest->getType(), 3);
    phi->addIncoming(from_rest, end);
    phi->addIncoming(from_part, blocks.part);
    for (llvm::BasicBlock* from : all_left) phi->addIncoming(from_trips, from);
    return phi;
  };
  for (size_t i = 0; i < loop.live_out.size(); ++i) {
    Value value = join(e.values.Get(loop.live_out[i]), at_end.out[i], at_end.out[i]);
    e.values.SetShaped(loop.live_out[i], {value, nullptr, nullptr});
  }
  for (size_t i = 0; i < loop.exits.size(); ++i)
    edges_[loop.exits[i]] = {join(edges_.at(loop.exits[i]).lanes, at_end.left[i], none)};
}

// A trip of which some lanes leave ends the loop of whole trips: at its end, or at a bound in it that it
// meets before it has any effect.
Status LaneVectors::EmitWholeTrips(const LaneRegion::Item& item, const LoopState& state) {
  const analysis::RegionTable<LaneShape> shapes = region_.shapes;
  const std::optional<Bound> bound = BoundOfTrips(item);
  const bool all_enter = IsAll(state.mask);
  const TripBlocks blocks{e.body.NewBlock("whole_trips"), e.body.NewBlock("part_leaves"),
                          e.body.NewBlock("parts_in_trip"), e.body.NewBlock("rest_of_trips"),
                          e.body.NewBlock("all_left")};
  Value all = all_enter ? b.getTrue() : AllOf(state.mask);
  llvm::BasicBlock* before = b.GetInsertBlock();
  b.CreateCondBr(all, blocks.head, blocks.rest);
  b.SetInsertPoint(blocks.head);
  LoopState whole = state;
  whole.mask = {llvm::Constant::getAllOnesValue(state.mask.lanes->getType()), b.getTrue()};
  const std::vector<LoopPhis> phis = HeadPhis(item, whole, before, false);
  LoopState at_head = whole;
  for (size_t i = 0; i < phis.size(); ++i) at_head.params[i] = {phis[i].value, phis[i].first, phis[i].holds};
  TRY_STATUS(EmitTrip(item, whole.mask, blocks.mixed, bound.has_value()));
  Turn(item, phis);
  LoopState at_end = StateAfterTrip(item, whole, phis);
  const std::vector<llvm::BasicBlock*> all_left = EmitLeaving(item, blocks, bound, at_end);
  std::vector<Way> ways{{&at_end, blocks.part}};
  b.SetInsertPoint(blocks.mixed);
  if (blocks.mixed->hasNPredecessorsOrMore(1)) {
    if (bound) RestoreSequences(item, at_head);
    b.CreateBr(blocks.rest);
    ways.push_back({&at_head, blocks.mixed});
  } else {
    blocks.mixed->eraseFromParent();
  }
  ways.push_back({&state, before});
  b.SetInsertPoint(blocks.rest);
  const LoopState remaining = Rest(ways);
  region_.shapes = shapes;
  TRY_STATUS(EmitLoopBody(item, remaining));
  JoinTrips(item, blocks, all_left, at_end, whole.mask.lanes);
  return {};
}

// What the masked loop begins with: after a trip that some lanes have left, at the head of one that they
// would leave, or where not all lanes enter.
LaneVectors::LoopState LaneVectors::Rest(const std::vector<Way>& ways) {
  auto join = [&](const std::function<Value(const LoopState&)>& of) -> Value {
    if (of(*ways[0].state) == nullptr) return nullptr;
    llvm::PHINode* phi = b.CreatePHI(of(*ways[0].state)->getType(), static_cast<unsigned>(ways.size()));
    for (const Way& way : ways) phi->addIncoming(Known(b, of(*way.state)), way.from);
    return phi;
  };
  const LoopState& like = *ways[0].state;
  LoopState state;
  state.mask = {join([](const LoopState& s) { return s.mask.lanes; }), b.getTrue()};
  for (size_t i = 0; i < like.params.size(); ++i) {
    state.params.push_back({join([&](const LoopState& s) { return s.params[i].value; }),
                            join([&](const LoopState& s) { return s.params[i].first; }),
                            join([&](const LoopState& s) { return s.params[i].holds; })});
  }
  for (size_t i = 0; i < like.left.size(); ++i)
    state.left.push_back(join([&](const LoopState& s) { return s.left[i]; }));
  for (size_t i = 0; i < like.out.size(); ++i)
    state.out.push_back(join([&](const LoopState& s) { return s.out[i]; }));
  return state;
}

}  // namespace ptx2cpu::lowering
