// Loops of a lane region as vectors.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

namespace {
constexpr size_t kMaxSteps = 16;  // of a value in a trip
}  // namespace

LaneLoopState LaneLoops::Entering(const LaneRegion::Item& item, const Mask& mask) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  LoopState state{{mask.active(), b.getTrue()}, {}, {}, {}};
  for (size_t i = 0; i < params.size(); ++i) {
    state.params.push_back(v.meets.Merge(item.in, i, ShapeOf(params[i])));
    if (!ShapeOf(params[i]).uniform()) state.params[i].value = Vector(state.params[i].value);
  }
  if (loop.leaves_together) return state;
  state.left.resize(loop.exits.size(), Empty().lanes);
  for (ValueId id : loop.live_out)
    state.out.push_back(llvm::Constant::getNullValue(VectorOf(e.m.TypeOf(f.type_of(id)))));
  return state;
}

Status LaneLoops::EmitLoop(const LaneRegion::Item& item, const Mask& mask) {
  const LaneRegion::Level& loop = region_.levels[item.loop];
  const LaneMasks::Guard guard = v.masks.Open(mask);
  if (!f.at_block(item.block).params.empty() && item.in.empty())
    return Fail(ErrorCode::kInternal, "function " + f.name + ": a region's entry has parameters");
  const LoopState state = Entering(item, mask);
  TRY_STATUS(v.trips.PaysToVersion(item) ? v.trips.EmitWholeTrips(item, state) : EmitLoopBody(item, state));
  v.masks.Close(guard, loop.live_out, loop.exits);
  return {};
}

// Whether every trip adds to the parameter what is the same in all lanes.
bool LaneLoops::GrowsAlike(const LaneRegion::Item& item, size_t number) const {
  const ValueId param = f.at_block(item.block).params[number];
  return std::ranges::all_of(region_.levels[item.loop].latches, [&](EdgeRef latch) {
    ValueId at = f.successors(latch.from)[latch.number].args[number];
    for (size_t steps = 0; at != param && steps < kMaxSteps; ++steps) {
      const ir::InstId def = f.at_value(at).def;
      if (!def.valid()) return false;
      const ir::Inst& inst = f.at_inst(def);
      const bool adds = inst.op == ir::Opcode::kAdd && inst.attrs.flags == 0;
      if (!adds && (inst.op != ir::Opcode::kSub || inst.attrs.flags != 0)) return false;
      const size_t step = adds && ShapeIn(e, region_, inst.operands[0]).uniform() ? 0 : 1;
      if (!ShapeIn(e, region_, inst.operands[step]).uniform()) return false;
      at = inst.operands[1 - step];
    }
    return at == param;
  });
}

// In the loop's head: the parameters of its first block. `by_distance`: sequences that grow alike are what
// they began with and the distance of the first lane from there, so that vectors of them are made where they
// are needed, which is seldom in a loop.
std::vector<LaneLoopPhis> LaneLoops::HeadPhis(const LaneRegion::Item& item, const LoopState& state,
                                              llvm::BasicBlock* from, bool by_distance) {
  auto phi = [&](Value first) {
    llvm::PHINode* made = b.CreatePHI(first->getType(), 2);
    made->addIncoming(first, from);
    return made;
  };
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  std::vector<LoopPhis> phis;
  for (size_t i = 0; i < params.size(); ++i) {
    const ShapedValue& entering = state.params[i];
    const bool is_distant = by_distance && ShapeOf(params[i]).affine() && GrowsAlike(item, i);
    phis.push_back({is_distant ? nullptr : phi(entering.value)});
    if (ShapeOf(params[i]).affine())
      phis[i].first = phi(entering.first), phis[i].holds = phi(AsBit(entering.holds));
    TwoRuns& runs = phis[i].runs = entering.runs;
    if (runs.second != nullptr) {
      for (Value& first : runs.first) first = phi(first);
      runs.holds = phi(AsBit(runs.holds));
    }
    e.values.SetShaped(params[i], {phis[i].value, phis[i].first, phis[i].holds, runs});
  }
  return phis;
}

// A trip that does something else to a value than to step it ends what is known of its runs.
void LaneLoops::TurnRuns(const TwoRuns& phis, const TwoRuns& turning) {
  if (phis.second == nullptr) return;
  const bool stays = turning.second == phis.second && turning.stride == phis.stride;
  auto turn = [&](Value phi, Value value) {
    llvm::cast<llvm::PHINode>(phi)->addIncoming(value, b.GetInsertBlock());
  };
  for (size_t k = 0; k < 2; ++k) turn(phis.first[k], stays ? turning.first[k] : Literal(phis.first[k], 0));
  turn(phis.holds, stays ? AsBit(turning.holds) : b.getFalse());
}

// At the end of a trip: what the next one begins with.
void LaneLoops::Turn(const LaneRegion::Item& item, const std::vector<LoopPhis>& phis) {
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  std::vector<ShapedValue> turning;
  for (size_t i = 0; i < params.size(); ++i)
    turning.push_back(v.meets.Merge(region_.levels[item.loop].latches, i, ShapeOf(params[i])));
  for (size_t i = 0; i < params.size(); ++i) {
    bool uniform = ShapeOf(params[i]).uniform();
    if (phis[i].value != nullptr)
      phis[i].value->addIncoming(uniform ? turning[i].value : Vector(turning[i].value), b.GetInsertBlock());
    if (phis[i].first == nullptr) continue;
    phis[i].first->addIncoming(turning[i].first, b.GetInsertBlock());
    phis[i].holds->addIncoming(AsBit(turning[i].holds), b.GetInsertBlock());
    TurnRuns(phis[i].runs, turning[i].runs);
  }
}

// At least one lane enters.
Status LaneLoops::EmitLoopBody(const LaneRegion::Item& item, const LoopState& state) {
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
  const std::vector<LoopPhis> phis = HeadPhis(item, state, before, true);
  Mask here = state.mask;
  llvm::PHINode* lanes = nullptr;
  if (!loop.turns_together) here.lanes = lanes = phi(state.mask.lanes);
  std::vector<llvm::PHINode*> left, out;
  for (Value lanes_left : state.left) left.push_back(phi(lanes_left));
  for (Value value : state.out) out.push_back(phi(value));
  const std::vector<ValueId>& params = f.at_block(item.block).params;
  for (size_t i = 0; i < phis.size(); ++i) {
    if (phis[i].value != nullptr) continue;
    Value distance = b.CreateSub(phis[i].first, state.params[i].first);
    Value value = b.CreateAdd(state.params[i].value, Vector(distance));
    e.values.SetShaped(params[i], {value, phis[i].first, phis[i].holds, phis[i].runs});
  }
  TRY_STATUS(v.flow.EmitLevel(item.loop, here));

  Turn(item, phis);
  Mask again = v.masks.Either(loop.latches);
  if (lanes != nullptr) lanes->addIncoming(again.lanes, b.GetInsertBlock());
  if (!loop.leaves_together) {
    Value leaving = loop.exits.empty() ? Empty().lanes : v.masks.Either(loop.exits).lanes;
    for (size_t i = 0; i < out.size(); ++i) {
      Value value = b.CreateSelect(leaving, Vector(e.values.Get(loop.live_out[i])), out[i]);
      out[i]->addIncoming(value, b.GetInsertBlock());
      e.values.SetShaped(loop.live_out[i], {value, nullptr, nullptr});
      v.region.shapes.Set(loop.live_out[i].index) = analysis::kVaryingShape;
    }
    for (size_t i = 0; i < left.size(); ++i) {
      Value all = b.CreateOr(left[i], v.masks.Of(loop.exits[i]).lanes);
      left[i]->addIncoming(all, b.GetInsertBlock());
      v.masks.Set(loop.exits[i], {all, nullptr});
    }
  }
  b.CreateCondBr(AnyOf(again), head, after);
  b.SetInsertPoint(after);
  return {};
}

}  // namespace ptx2cpu::lowering
