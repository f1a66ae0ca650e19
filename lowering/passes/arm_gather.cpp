// Lanes gather at blocks that several paths lead to: see sequence_divergent_arms.cpp.
#include "lowering/passes/arm_sequencer.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

void ArmSequencer::Gather(BlockId root, const std::vector<BlockId>& guests, BlockId join,
                          const std::vector<BlockId>& arms) {
  std::vector<BlockId> branches{root};
  branches.insert(branches.end(), guests.begin(), guests.end());
  std::vector<Target> targets;
  for (BlockId block : Meets(branches, join, arms)) targets.push_back({block, NewSlot(), {}});
  ir::Position at = f_.terminator(root).at;
  BlockId dispatch = BuildDispatch(targets, at);
  std::vector<ir::Inst> old;
  for (BlockId branch : branches) old.push_back(f_.terminator(branch));
  ir::Builder b = Replace(root);
  for (const Target& target : targets) b.SlotStore(target.wait, b.Const(Type::kI32, 0));
  Divide(b, old[0], targets, dispatch);
  for (size_t g = 1; g < branches.size(); ++g) {
    ir::Builder guest = Replace(branches[g]);
    Divide(guest, old[g], targets, dispatch);
  }
  for (BlockId block : arms) RedirectToWait(block, targets, dispatch, at);
}

// Heads of the branches' ways and blocks with several ways in, each before those it leads to; the join
// last.
std::vector<BlockId> ArmSequencer::Meets(const std::vector<BlockId>& branches, BlockId join,
                                         const std::vector<BlockId>& arms) {
  std::vector<uint32_t> entries(f_.blocks.size());
  for (BlockId block : arms) {
    for (const ir::Edge& edge : f_.successors(block)) ++entries[edge.to.index];
  }
  for (BlockId branch : branches) {
    for (const ir::Edge& edge : f_.successors(branch)) entries[edge.to.index] += 2;
  }
  std::vector<BlockId> meets;
  for (BlockId block : ir::ReversePostOrder(f_)) {
    bool settled = block.index < depth_.size() && depth_[block.index] != 0;
    if (block == join || settled || entries[block.index] < 2) continue;
    if (std::ranges::find(arms, block) != arms.end()) meets.push_back(block);
  }
  meets.push_back(join);
  return meets;
}

BlockId ArmSequencer::BuildDispatch(const std::vector<Target>& targets, ir::Position at) {
  // Around the outermost branch no lane waits: for_lanes ends the warp.
  BlockId next = Place("all_exited");
  ir::Builder{f_, next}.Terminate(Opcode::kUnreachable);
  lost_.push_back(next);
  for (auto target = targets.rbegin(); target != targets.rend(); ++target) {
    BlockId test = Place("dispatch"), enter = Place("gathered");
    ir::Builder{f_, test, at}.CondBr(NonZero(f_, test, target->wait, at), {enter, {}}, {next, {}});
    ir::Builder b{f_, enter, at};
    ValueId lanes = b.SlotLoad(target->wait);
    b.SlotStore(target->wait, b.Const(Type::kI32, 0));
    b.SlotStore(f_.parked_slot, Without(b, b.SlotLoad(f_.parked_slot), lanes));
    RunOn(b, lanes, target->block);
    next = test;
  }
  return next;
}

void ArmSequencer::Divide(ir::Builder& b, const ir::Inst& old, const std::vector<Target>& targets,
                          BlockId dispatch) {
  ValueId live = b.Inst1(Opcode::kLiveMask, Type::kVoid, {});
  ValueId takers = b.Inst1(Opcode::kBallot, Type::kVoid, {old.operands[0], live}, {.flags = ir::kLegacy});
  ValueId lanes[] = {takers, Without(b, live, takers)};
  for (size_t e : {0, 1}) {
    auto target = std::ranges::find(targets, old.edges[e].to, &Target::block);
    AddTo(b, target->wait, lanes[e]);
  }
  AddTo(b, f_.parked_slot, live);
  b.Br(dispatch);
}

void ArmSequencer::RedirectToWait(BlockId block, std::vector<Target>& targets, BlockId dispatch,
                                  ir::Position at) {
  size_t count = f_.terminator(block).edges.size();
  for (size_t e = 0; e < count; ++e) {
    auto target = std::ranges::find(targets, f_.terminator(block).edges[e].to, &Target::block);
    if (target == targets.end()) continue;
    if (!target->arrive.valid()) {
      target->arrive = Place("arrive");
      ir::Builder b{f_, target->arrive, at};
      ValueId live = b.Inst1(Opcode::kLiveMask, Type::kVoid, {});
      AddTo(b, target->wait, live);
      AddTo(b, f_.parked_slot, live);
      b.Br(dispatch);
    }
    f_.inst(f_.at_block(block).insts.back()).edges[e].to = target->arrive;
  }
  if (f_.terminator(block).op == Opcode::kForLanes && count == 2 && MayExit(block))
    f_.inst(f_.at_block(block).insts.back()).edges.push_back({dispatch, {}});
  if (std::erase(lost_, block) != 0) Replace(block).Br(dispatch);
}

void ArmSequencer::AddTo(ir::Builder& b, uint32_t slot, ValueId lanes) {
  b.SlotStore(slot, b.Binary(Opcode::kOr, Type::kI32, b.SlotLoad(slot), lanes));
}

ValueId ArmSequencer::NonZero(ir::Function& f, BlockId block, uint32_t slot, ir::Position at) {
  ir::Builder b{f, block, at};
  return NonZero(b, b.SlotLoad(slot));
}

}  // namespace ptx2cpu::lowering
