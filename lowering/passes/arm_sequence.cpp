// The arms of a branch run one after the other: see mask_divergent_arms.cpp.
#include "lowering/passes/arm_sequencer.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

const ArmSequencer::SlotsOfDepth& ArmSequencer::SlotsFor(uint32_t depth) {
  while (slots_.size() < depth) {
    const uint32_t arrived = NewSlot();
    slots_.push_back({arrived, NewSlot()});
  }
  return slots_[depth - 1];
}

void ArmSequencer::Build(BlockId branch, BlockId join, const std::vector<BlockId>& arms, uint32_t depth) {
  const ir::Inst old = f_.terminator(branch);
  BlockId first = old.edges[0].to, second = old.edges[1].to;
  ir::Builder b = Replace(branch);
  if (first == join && second == join) {
    b.Br(join);
    return;
  }
  const auto [arrived, pending] = SlotsFor(depth);
  Plan plan{old.at, arrived, pending, join, Place("arms_meet"), {}, Place("rejoin")};
  ValueId live = b.Inst1(Opcode::kLiveMask, Type::kVoid, {});
  ValueId takers = b.Inst1(Opcode::kBallot, Type::kVoid, {old.operands[0], live}, {.flags = ir::kLegacy});
  ValueId others = Without(b, live, takers);
  if (first == join) {
    std::swap(first, second);
    std::swap(takers, others);
  }
  BlockId enter = Place("first_arm"), otherwise = join;
  if (second == join) {  // the others are there already
    plan.next = plan.rejoin;
    b.SlotStore(plan.arrived, others);
  } else {
    b.SlotStore(plan.arrived, b.Const(Type::kI32, 0));
    b.SlotStore(plan.pending, others);
    otherwise = BuildSecond(plan, second);
  }
  b.CondBr(NonZero(b, takers), {enter, {}}, {otherwise, {}});
  ir::Builder in{f_, enter, plan.at};
  in.SlotStore(f_.parked_slot, in.Binary(Opcode::kOr, Type::kI32, in.SlotLoad(f_.parked_slot), others));
  RunOn(in, takers, first);
  BuildRejoin(plan, Redirect(arms, plan));
}

// The way through the second arm; returns the block that enters it when no lane takes the first.
BlockId ArmSequencer::BuildSecond(Plan& plan, BlockId second) {
  plan.next = Place("next_arm");
  BlockId enter = Place("second_arm"), only = Place("second_arm_only");
  ir::Builder next{f_, plan.next, plan.at};
  next.CondBr(NonZero(next, next.SlotLoad(plan.pending)), {enter, {}}, {plan.rejoin, {}});
  ir::Builder b{f_, enter, plan.at};
  ValueId lanes = b.SlotLoad(plan.pending);
  b.SlotStore(plan.pending, b.Const(Type::kI32, 0));
  ValueId waiting = Without(b, b.SlotLoad(f_.parked_slot), lanes);
  b.SlotStore(f_.parked_slot, b.Binary(Opcode::kOr, Type::kI32, waiting, b.SlotLoad(plan.arrived)));
  RunOn(b, lanes, second);
  ir::Builder alone{f_, only, plan.at};
  alone.SlotStore(plan.pending, alone.Const(Type::kI32, 0));
  alone.Br(second);
  return only;
}

// Arms lead to `meet` instead of the join, and to `next` when all their lanes have exited; true when they
// may.
bool ArmSequencer::Redirect(const std::vector<BlockId>& arms, const Plan& plan) {
  bool exits = false;
  for (BlockId block : arms) {
    ir::Inst& end = f_.inst(f_.at_block(block).insts.back());
    for (ir::Edge& edge : end.edges) {
      if (edge.to == plan.join) edge.to = plan.meet;
    }
    if (end.op == Opcode::kForLanes && end.edges.size() == 2 && MayExit(block)) {
      end.edges.push_back({plan.next, {}});
      exits = true;
    }
    if (std::ranges::find(lost_, block) != lost_.end()) {
      Replace(block).Br(plan.next);
      std::erase(lost_, block);
      exits = true;
    }
  }
  return exits;
}

void ArmSequencer::BuildRejoin(const Plan& plan, bool exits) {
  ir::Builder meet{f_, plan.meet, plan.at};
  ValueId here = meet.Inst1(Opcode::kLiveMask, Type::kVoid, {});
  meet.SlotStore(plan.arrived, meet.Binary(Opcode::kOr, Type::kI32, meet.SlotLoad(plan.arrived), here));
  meet.Br(plan.next);
  BlockId resume = plan.rejoin;
  if (exits) {
    BlockId lost = Place("all_exited");
    resume = Place("resume");
    ir::Builder test{f_, plan.rejoin, plan.at};
    test.CondBr(NonZero(test, test.SlotLoad(plan.arrived)), {resume, {}}, {lost, {}});
    // Around the outermost branch no lane waits: for_lanes ends the warp.
    ir::Builder{f_, lost}.Terminate(Opcode::kUnreachable);
    lost_.push_back(lost);
  }
  ir::Builder b{f_, resume, plan.at};
  ValueId arrived = b.SlotLoad(plan.arrived);
  b.SlotStore(f_.parked_slot, Without(b, b.SlotLoad(f_.parked_slot), arrived));
  RunOn(b, arrived, plan.join);
}

}  // namespace ptx2cpu::lowering
