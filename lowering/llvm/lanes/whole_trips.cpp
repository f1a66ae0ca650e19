// Trips of a loop that all lanes take.
//
// Where masks cost (machines without AVX-512, loads of several elements a lane), and where a step is wide
// (lane_width.h), a loop whose lanes leave at the bounds of the data, or after a number of trips that each
// lane counts, exists twice: trips that all lanes take, without masks, and the rest:
//
//   while (any(i < n)) {...}   ->   while (all(i < n)) {... without masks};  while (any(i < n)) {... under
//   masks}
//
// Where the lanes' places in the data are a sequence, the test of all lanes is one of the first and last
// lane's places: vectors of places, and of bits, are not kept in the loop.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

constexpr size_t kMaxVersioned = 200;  // instructions of a loop that is emitted twice

}  // namespace

// Where lanes leave at bounds, and access memory that all of them access. Lanes that part for a while within
// a trip do so under masks of their own in either version.
bool WholeTrips::PaysToVersion(const LaneRegion::Item& item) const {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  if (loop.leaves_together) return false;
  const bool has_masks = !is_wide_ && e.m.traits.has_avx512;
  size_t instructions = 0;
  bool accesses = false, parts = false, counts = false, loads_records = false;
  for (BlockId block : region_.blocks) {
    if (!region_.Contains(item.loop, block)) continue;
    instructions += f.at_block(block).insts.size();
    for (ir::InstId id : f.at_block(block).insts) {
      accesses |= IsOfVector(id);
      loads_records |= f.at_inst(id).results.size() > 1 && IsOfVector(id);
    }
    if (region_.level_of[block.index] != item.loop) continue;
    // Lanes that leave at something else than a bound soon leave in every trip.
    const ir::Inst& end = f.terminator(block);
    if (end.operands.empty() || v.bounds.IsBound(end.operands[0])) continue;
    if (!EndsTrips(item.loop, block)) {
      parts = true;
    } else if (EndsAfterOwnTrips(item, end.operands[0])) {
      counts = true;
    } else {
      return false;
    }
  }
  if (!loads_records && (has_masks || counts)) return false;
  if (has_masks && parts) return false;
  if (parts) accesses = !is_wide_ && AllAccess(item.loop);
  return accesses && instructions <= kMaxVersioned;
}

// Whether the condition compares a lane's count of trips, which each trip changes by what is the same for all
// lanes, with what is the same for all lanes.
bool WholeTrips::EndsAfterOwnTrips(const LaneRegion::Item& item, ValueId condition) const {
  ir::InstId def = f.at_value(condition).def;
  while (def.valid() && f.at_inst(def).op == Opcode::kNot) def = f.at_value(f.at_inst(def).operands[0]).def;
  if (!def.valid() || f.at_inst(def).op != Opcode::kIcmp) return false;
  const ir::Inst& compare = f.at_inst(def);
  const size_t limit = ShapeIn(e, region_, compare.operands[1]).uniform() ? 1 : 0;
  if (!ShapeIn(e, region_, compare.operands[limit]).uniform()) return false;
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  ValueId count = compare.operands[1 - limit];
  for (size_t i = 0; i < params.size(); ++i) {
    if (!v.loops.GrowsAlike(item, i)) continue;
    if (count == params[i]) return true;
    const std::vector<EdgeRef>& latches = region_.levels[item.loop].latches;
    if (std::ranges::all_of(
            latches, [&](EdgeRef latch) { return f.successors(latch.from)[latch.number].args[i] == count; }))
      return true;
  }
  return false;
}

// Whether the block decides about the lanes' next trip.
bool WholeTrips::EndsTrips(uint32_t loop, BlockId block) const {
  const LaneRegion::Level& level = region_.levels[loop];
  auto from_here = [&](EdgeRef edge) { return edge.from == block; };
  return std::ranges::any_of(level.latches, from_here) || std::ranges::any_of(level.exits, from_here);
}

// Whether a block that all lanes of the loop reach accesses memory of each of them.
bool WholeTrips::AllAccess(uint32_t loop) const {
  const std::vector<LaneRegion::Item>& items = region_.levels[loop].items;
  for (size_t i = 0; i < items.size(); ++i) {
    const bool reached_by_all = i == 0 || items[i].same_as == 0;
    if (!reached_by_all || items[i].loop != LaneRegion::kNone) continue;
    const std::vector<ir::InstId>& insts = f.at_block(items[i].block).insts;
    if (std::ranges::any_of(insts, [&](ir::InstId id) { return IsOfVector(id); })) return true;
  }
  return false;
}

// The bound of a loop that has no other exit.
std::optional<WholeTrips::Bound> WholeTrips::BoundOfTrips(const LaneRegion::Item& item) const {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  if (loop.latches.size() != 1 || loop.exits.size() != 1 || loop.latches[0].from != loop.exits[0].from)
    return std::nullopt;
  const ir::Inst& end = f.terminator(loop.latches[0].from);
  if (end.op != Opcode::kCondBr) return std::nullopt;
  return v.bounds.BoundOf(end.operands[0], loop.latches[0].number == 0);
}

void WholeTrips::RestoreSequences(const LaneRegion::Item& item, LoopState& state) {
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (ShapeOf(params[i]).affine() && !ShapeOf(params[i]).guess)
      state.params[i].value = v.bounds.SequenceFrom(params[i], state.params[i].first);
  }
}

// One trip of all lanes; `bounded`: it can end early only where its bound is met.
Status WholeTrips::EmitTrip(const LaneRegion::Item& item, const Mask& all, llvm::BasicBlock* mixed,
                            bool bounded) {
  const BlockId latch = bounded ? region_.levels[item.loop].latches[0].from : BlockId{};
  const LanePartings::Trip trip(v.partings, item.loop, mixed, latch);
  return v.flow.EmitLevel(item.loop, all);
}

// The parameters and live values at the end of a trip; `state` is that of its begin.
LaneLoopState WholeTrips::StateAfterTrip(const LaneRegion::Item& item, LoopState state,
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
std::vector<llvm::BasicBlock*> WholeTrips::EmitLeaving(const LaneRegion::Item& item, const TripBlocks& to,
                                                       const std::optional<Bound>& bound, LoopState& at_end) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  if (!bound) {
    at_end.mask = v.masks.Either(loop.latches);
    for (size_t i = 0; i < loop.exits.size(); ++i) at_end.left[i] = v.masks.Of(loop.exits[i]).lanes;
    Value again = AnyOf(at_end.mask);
    b.CreateCondBr(AllOf(at_end.mask), to.head, to.part);
    b.SetInsertPoint(to.part);
    b.CreateCondBr(again, to.rest, to.done);
    return {};
  }
  // Mostly all lanes leave together, which takes no vectors either.
  llvm::BasicBlock* ended = e.body.NewBlock("trips_ended");
  Value none =
      v.bounds.AllWithin({bound->place, bound->limit, llvm::CmpInst::getInversePredicate(bound->predicate)});
  b.CreateCondBr(v.bounds.AllWithin(*bound), to.head, ended);
  b.SetInsertPoint(ended);
  b.CreateCondBr(none, to.done, to.part);
  b.SetInsertPoint(to.part);
  RestoreSequences(item, at_end);
  at_end.mask = {b.CreateICmp(bound->predicate,
                              v.bounds.SequenceFrom(bound->place, e.values.Shaped(bound->place).first),
                              Vector(e.values.Get(bound->limit)))};
  at_end.left[0] = b.CreateNot(at_end.mask.lanes);
  b.CreateCondBr(AnyOf(at_end.mask), to.rest, to.done);
  return {ended};
}

// What the loop leaves, of the masked loop or of whole trips alone; `none`: the lanes that have left when no
// lane is left for the masked loop.
void WholeTrips::JoinTrips(const LaneRegion::Item& item, const TripBlocks& blocks,
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
    v.masks.Set(loop.exits[i], {join(v.masks.Of(loop.exits[i]).lanes, at_end.left[i], none)});
}

// A trip of which some lanes leave ends the loop of whole trips: at its end, or at a bound in it that it
// meets before it has any effect.
Status WholeTrips::EmitWholeTrips(const LaneRegion::Item& item, const LoopState& state) {
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
  const std::vector<LoopPhis> phis = v.loops.HeadPhis(item, whole, before, false);
  LoopState at_head = whole;
  for (size_t i = 0; i < phis.size(); ++i) at_head.params[i] = {phis[i].value, phis[i].first, phis[i].holds};
  TRY_STATUS(EmitTrip(item, whole.mask, blocks.mixed, bound.has_value()));
  v.loops.Turn(item, phis);
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
  v.region.shapes = shapes;
  TRY_STATUS(v.loops.EmitLoopBody(item, remaining));
  JoinTrips(item, blocks, all_left, at_end, whole.mask.lanes);
  return {};
}

// What the masked loop begins with: after a trip that some lanes have left, at the head of one that they
// would leave, or where not all lanes enter.
LaneLoopState WholeTrips::Rest(const std::vector<Way>& ways) {
  auto join = [&](const std::function<Value(const LoopState&)>& of) -> Value {
    if (of(*ways[0].state) == nullptr) return nullptr;
    llvm::PHINode* phi = b.CreatePHI(of(*ways[0].state)->getType(), static_cast<unsigned>(ways.size()));
    for (const Way& way : ways) phi->addIncoming(AsBit(of(*way.state)), way.from);
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
