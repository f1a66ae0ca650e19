// Loops of a lane region as vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

namespace {
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

}  // namespace ptx2cpu::lowering
