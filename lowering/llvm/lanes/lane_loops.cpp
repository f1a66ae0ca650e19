// Loops of a lane region as vectors.
//
// Where masks cost (machines without AVX-512), a loop whose lanes leave at the bounds of the data exists
// twice: trips that all lanes take, without masks, and the rest:
//
//   while (any(i < n)) {...}   ->   while (all(i < n)) {... without masks};  while (any(i < n)) {... under
//   masks}
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::ValueId;
using Value = llvm::Value*;

namespace {
constexpr size_t kMaxVersioned = 200;  // instructions of a loop that is emitted twice

Value Known(llvm::IRBuilder<>& b, Value holds) { return holds != nullptr ? holds : b.getTrue(); }
}  // namespace

LaneVectors::LoopState LaneVectors::Entering(const LaneRegion::Item& item, const Mask& mask) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  LoopState state{{mask.active(), b.getTrue()}, {}, {}, {}};
  for (size_t i = 0; i < params.size(); ++i) {
    state.params.push_back(Merge(item.in, i, ShapeOf(params[i])));
    if (!ShapeOf(params[i]).uniform()) state.params[i].value = Vector(state.params[i].value);
  }
  if (loop.leaves_together) return state;
  state.left.resize(loop.exits.size(), Empty().lanes);
  for (ValueId id : loop.live_out)
    state.out.push_back(llvm::Constant::getNullValue(VectorOf(e.m.TypeOf(f.type_of(id)))));
  return state;
}

Status LaneVectors::EmitLoop(const LaneRegion::Item& item, const Mask& mask) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  Guard guard = Open(mask);
  if (!f.at_block(item.block).params.empty() && item.in.empty())
    return Fail(ErrorCode::kInternal, "function " + f.name + ": a region's entry has parameters");
  const LoopState state = Entering(item, mask);
  TRY_STATUS(PaysToVersion(item, state.mask) ? EmitWholeTrips(item, state) : EmitLoopBody(item, state));
  Close(guard, loop.live_out, loop.exits);
  return {};
}

// In the loop's head: the parameters of its first block.
std::vector<LaneVectors::LoopPhis> LaneVectors::HeadPhis(const LaneRegion::Item& item, const LoopState& state,
                                                         llvm::BasicBlock* from) {
  auto phi = [&](Value first) {
    llvm::PHINode* made = b.CreatePHI(first->getType(), 2);
    made->addIncoming(first, from);
    return made;
  };
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  std::vector<LoopPhis> phis;
  for (size_t i = 0; i < params.size(); ++i) {
    const ShapedValue& entering = state.params[i];
    phis.push_back({phi(entering.value)});
    if (ShapeOf(params[i]).affine())
      phis[i].first = phi(entering.first), phis[i].holds = phi(Known(b, entering.holds));
    e.values.SetShaped(params[i], {phis[i].value, phis[i].first, phis[i].holds});
  }
  return phis;
}

// At the end of a trip: what the next one begins with.
void LaneVectors::Turn(const LaneRegion::Item& item, const std::vector<LoopPhis>& phis) {
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  std::vector<ShapedValue> turning;
  for (size_t i = 0; i < params.size(); ++i)
    turning.push_back(Merge(region_.levels[item.loop].latches, i, ShapeOf(params[i])));
  for (size_t i = 0; i < params.size(); ++i) {
    bool uniform = ShapeOf(params[i]).uniform();
    phis[i].value->addIncoming(uniform ? turning[i].value : Vector(turning[i].value), b.GetInsertBlock());
    if (phis[i].first == nullptr) continue;
    phis[i].first->addIncoming(turning[i].first, b.GetInsertBlock());
    phis[i].holds->addIncoming(Known(b, turning[i].holds), b.GetInsertBlock());
  }
}

// At least one lane enters.
Status LaneVectors::EmitLoopBody(const LaneRegion::Item& item, const LoopState& state) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = e.body.NewBlock("lanes_loop"),
                   *after = e.body.NewBlock("lanes_left");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  auto phi = [&](Value first) {
    llvm::PHINode* made = b.CreatePHI(first->getType(), 2);
    made->addIncoming(first, before);
    return made;
  };
  const std::vector<LoopPhis> phis = HeadPhis(item, state, before);
  Mask here = state.mask;
  llvm::PHINode* lanes = nullptr;
  if (!loop.turns_together) here.lanes = lanes = phi(state.mask.lanes);
  std::vector<llvm::PHINode*> left, out;
  for (Value lanes_left : state.left) left.push_back(phi(lanes_left));
  for (Value value : state.out) out.push_back(phi(value));
  TRY_STATUS(EmitLevel(item.loop, here));

  Turn(item, phis);
  Mask again = Either(loop.latches);
  if (lanes != nullptr) lanes->addIncoming(again.lanes, b.GetInsertBlock());
  if (!loop.leaves_together) {
    Value leaving = loop.exits.empty() ? Empty().lanes : Either(loop.exits).lanes;
    for (size_t i = 0; i < out.size(); ++i) {
      Value value = b.CreateSelect(leaving, Vector(e.values.Get(loop.live_out[i])), out[i]);
      out[i]->addIncoming(value, b.GetInsertBlock());
      e.values.SetShaped(loop.live_out[i], {value, nullptr, nullptr});
      region_.shapes[loop.live_out[i].index] = analysis::kVaryingShape;
    }
    for (size_t i = 0; i < left.size(); ++i) {
      Value all = b.CreateOr(left[i], edges_.at(loop.exits[i]).lanes);
      left[i]->addIncoming(all, b.GetInsertBlock());
      edges_[loop.exits[i]] = {all, nullptr};
    }
  }
  b.CreateCondBr(AnyOf(again), head, after);
  b.SetInsertPoint(after);
  return {};
}

// -- trips that all lanes take --

// Where all lanes enter, leave at bounds, and access memory in between.
bool LaneVectors::PaysToVersion(const LaneRegion::Item& item, const Mask& mask) const {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  if (e.m.traits.has_avx512 || loop.leaves_together || !IsAll(mask)) return false;
  size_t instructions = 0;
  bool accesses = false;
  for (BlockId block : region_.blocks) {
    if (!region_.Contains(item.loop, block)) continue;
    const std::vector<ir::InstId>& insts = f.at_block(block).insts;
    instructions += insts.size();
    for (ir::InstId id : insts) {
      const ir::Inst& inst = f.at_inst(id);
      const bool access = inst.op == ir::Opcode::kLoad || inst.op == ir::Opcode::kStore;
      accesses |= access && !ShapeIn(e, region_, inst.operands[0]).uniform();
    }
    // Lanes that part at something else soon part in every trip.
    if (region_.level_of[block.index] != item.loop) continue;
    const ir::Inst& end = f.terminator(block);
    if (!end.operands.empty() && !IsBound(end.operands[0], kMaxDepthOfBound)) return false;
  }
  return accesses && instructions <= kMaxVersioned;
}

// A trip of which some lanes leave ends the loop of whole trips: at its end, or at a bound in it that it
// meets before it has any effect.
Status LaneVectors::EmitWholeTrips(const LaneRegion::Item& item, const LoopState& state) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  const std::vector<LaneShape> shapes = region_.shapes;
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = e.body.NewBlock("whole_trips"),
                   *part = e.body.NewBlock("part_leaves"), *mixed = e.body.NewBlock("parts_in_trip"),
                   *rest = e.body.NewBlock("rest_of_trips"), *done = e.body.NewBlock("all_left");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  const std::vector<LoopPhis> phis = HeadPhis(item, state, before);
  LoopState at_head = state, at_end = state;
  for (size_t i = 0; i < phis.size(); ++i) at_head.params[i] = {phis[i].value, phis[i].first, phis[i].holds};
  {
    auto* outer = std::exchange(mixed_, mixed);
    const uint32_t outer_level = std::exchange(mixed_level_, item.loop);
    const bool had_effects = std::exchange(has_effects_, false);
    TRY_STATUS(EmitLevel(item.loop, state.mask));
    mixed_ = outer;
    mixed_level_ = outer_level;
    has_effects_ |= had_effects;
  }
  Turn(item, phis);
  llvm::BasicBlock* latch = b.GetInsertBlock();
  for (size_t i = 0; i < phis.size(); ++i) {
    auto of = [&](llvm::PHINode* phi) -> Value {
      return phi == nullptr ? nullptr : phi->getIncomingValueForBlock(latch);
    };
    at_end.params[i] = {of(phis[i].value), of(phis[i].first), of(phis[i].holds)};
  }
  at_end.mask = Either(loop.latches);
  for (size_t i = 0; i < loop.exits.size(); ++i) at_end.left[i] = edges_.at(loop.exits[i]).lanes;
  for (size_t i = 0; i < loop.live_out.size(); ++i) at_end.out[i] = Vector(e.values.Get(loop.live_out[i]));
  Value again = AnyOf(at_end.mask);
  b.CreateCondBr(AllOf(at_end.mask), head, part);
  b.SetInsertPoint(part);
  b.CreateCondBr(again, rest, done);
  b.SetInsertPoint(mixed);
  if (mixed->hasNPredecessorsOrMore(1)) {
    b.CreateBr(rest);
  } else {
    mixed->eraseFromParent();
    mixed = nullptr;
  }
  b.SetInsertPoint(rest);
  const LoopState remaining = Rest(item, at_end, part, at_head, mixed);
  region_.shapes = shapes;
  TRY_STATUS(EmitLoopBody(item, remaining));
  llvm::BasicBlock* end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  auto join = [&](Value from_rest, Value from_part) {
    llvm::PHINode* phi = b.CreatePHI(from_rest->getType(), 2);
    phi->addIncoming(from_rest, end);
    phi->addIncoming(from_part, part);
    return phi;
  };
  for (size_t i = 0; i < loop.live_out.size(); ++i) {
    Value value = join(e.values.Get(loop.live_out[i]), at_end.out[i]);
    e.values.SetShaped(loop.live_out[i], {value, nullptr, nullptr});
  }
  for (size_t i = 0; i < loop.exits.size(); ++i)
    edges_[loop.exits[i]] = {join(edges_.at(loop.exits[i]).lanes, at_end.left[i])};
  return {};
}

// What the masked loop begins with: after a trip that some lanes have left, or at the head of one that they
// would leave.
LaneVectors::LoopState LaneVectors::Rest(const LaneRegion::Item& item, const LoopState& part,
                                         llvm::BasicBlock* from, const LoopState& mixed,
                                         llvm::BasicBlock* mixed_from) {
  auto join = [&](Value a, Value other) -> Value {
    if (a == nullptr || mixed_from == nullptr) return a;
    llvm::PHINode* phi = b.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, from);
    phi->addIncoming(other, mixed_from);
    return phi;
  };
  LoopState state;
  state.mask = {join(part.mask.lanes, mixed.mask.lanes), b.getTrue()};
  for (size_t i = 0; i < part.params.size(); ++i) {
    const ShapedValue &a = part.params[i], &other = mixed.params[i];
    state.params.push_back(
        {join(a.value, other.value), join(a.first, other.first), join(a.holds, other.holds)});
  }
  for (size_t i = 0; i < part.left.size(); ++i) state.left.push_back(join(part.left[i], mixed.left[i]));
  for (size_t i = 0; i < part.out.size(); ++i) state.out.push_back(join(part.out[i], mixed.out[i]));
  return state;
}

}  // namespace ptx2cpu::lowering
