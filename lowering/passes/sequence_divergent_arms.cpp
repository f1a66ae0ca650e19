// The second half of masking divergent arms, on the Collapsed form: see mask_divergent_arms.cpp.
//
// Where the paths from a branch have no block in common except the join, one arm runs after the other.
// Otherwise, and where a branch within the arms leads to blocks that other paths also reach (a guest), lanes
// gather at each such block t (Diamos et al. 2011: thread frontiers):
//
//     b, guests:  wait.t |= takers ; wait.e |= others ; parked |= live ; br dispatch
//     u -> t:     wait.t |= live ; parked |= live ; br dispatch
//     dispatch:   for the first t in topological order with wait.t != 0
//                 lanes = wait.t ; wait.t = 0 ; parked &= ~lanes ; set_live_mask lanes ; br t
//
// The join is the last one: when lanes continue there, no lane waits any more.
#include "lowering/passes/arm_sequencer.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {
constexpr uint32_t kNoBlock = ~0u;
}

Status ArmSequencer::Run() {
  exits_ = f_.has_early_exit;
  f_.parked_slot = NewSlot();
  f_.has_early_exit = true;
  ClearParked();
  closed_.emplace(
      f_, [this](uint32_t node) { return StepsOf(node); },
      [this](BlockId from, uint32_t e) { return EntersLanes(f_, from, e); });
  // Inner branches come later in reverse post-order; an outer one then finds what became of them among its
  // blocks.
  for (auto it = branches_.rbegin(); it != branches_.rend(); ++it) Sequence(*it);
  if (!guests_.empty())
    return Fail(ErrorCode::kInternal, "the arms of a divergent branch of '" + f_.name + "' are lost");
  if (!exits_) MarkWhereAllRun();
  return {};
}

uint32_t ArmSequencer::NewSlot() {
  f_.slots.push_back({Type::kI32, Level::kWarp});
  return static_cast<uint32_t>(f_.slots.size() - 1);
}

bool ArmSequencer::EntersLanes(const ir::Function& f, BlockId from, uint32_t edge) {
  return edge == 0 && f.terminator(from).op == Opcode::kForLanes;
}

std::vector<BlockId> ArmSequencer::WarpBlocksAfter(BlockId block, uint32_t join) const {
  return Between(f_, block, join, [this](BlockId from, uint32_t e) { return EntersLanes(f_, from, e); });
}

// No lane is parked when a warp begins a body that parks lanes.
void ArmSequencer::ClearParked() {
  std::vector<bool> is_branch(f_.blocks.size());
  for (BlockId branch : branches_) is_branch[branch.index] = true;
  for (BlockId block : ir::ReversePostOrder(f_)) {
    if (f_.terminator(block).op != Opcode::kForWarps) continue;
    BlockId body = f_.successors(block)[0].to;
    std::vector<BlockId> reached = WarpBlocksAfter(body, kNoBlock);
    reached.push_back(body);
    bool parks = std::ranges::any_of(
        reached, [&](BlockId b) { return b.index < is_branch.size() && is_branch[b.index]; });
    if (!parks) continue;
    BlockId clear = ir::AddBlock(f_, "", Level::kWarp);
    ir::Builder b{f_, clear};
    b.SlotStore(f_.parked_slot, b.Const(Type::kI32, 0));
    b.Br(body);
    f_.inst(f_.at_block(block).insts.back()).edges[0].to = clear;
  }
}

// Lanes wait in arms only.
void ArmSequencer::MarkWhereAllRun() {
  in_arm_.resize(f_.blocks.size());
  for (BlockId block : ir::ReversePostOrder(f_)) {
    ir::Inst& end = f_.inst(f_.at_block(block).insts.back());
    if (end.op == Opcode::kForLanes && !in_arm_[block.index]) end.attrs.flags |= ir::kUniform;
  }
}

void ArmSequencer::Sequence(BlockId branch) {
  std::optional<DivergentArms> arms = closed_->Find(
      f_, branch, [this](uint32_t node) { return StepsOf(node); },
      [this](BlockId from, uint32_t e) { return EntersLanes(f_, from, e); });
  if (!arms) {
    guests_.push_back(branch);
    return;
  }
  in_arm_.resize(f_.blocks.size());
  last_.resize(f_.blocks.size());
  std::vector<BlockId> guests;
  for (BlockId block : arms->blocks) {
    in_arm_[block.index] = true;
    if (last_[block.index]) EndLanes(block);
    if (std::erase(guests_, block) != 0) guests.push_back(block);
  }
  BlockId join{arms->join};
  if (join.index == f_.blocks.size()) join = CommonEnd(arms->blocks);
  size_t count = f_.blocks.size();
  depth_.resize(count);
  uint32_t depth = 1;
  for (BlockId block : arms->blocks) depth = std::max(depth, depth_[block.index] + 1);
  if (guests.empty() && !Overlap(branch, join)) {
    Build(branch, join, arms->blocks, depth);
  } else {
    Gather(branch, guests, join, arms->blocks);
  }
  for (BlockId block : arms->blocks) depth_[block.index] = depth;
  depth_.resize(f_.blocks.size(), depth);
}

// Lanes of both ways reach one block before the arms meet.
bool ArmSequencer::Overlap(BlockId branch, BlockId join) const {
  std::vector<bool> seen(f_.blocks.size());
  for (const ir::Edge& edge : f_.successors(branch)) {
    if (edge.to == join) continue;
    std::vector<BlockId> way = WarpBlocksAfter(edge.to, join.index);
    if (std::ranges::find(way, edge.to) == way.end()) way.push_back(edge.to);
    for (BlockId block : way) {
      if (seen[block.index]) return true;
      seen[block.index] = true;
    }
  }
  return false;
}

// Ways that are taken when no lane is left do not decide where the arms meet.
Step ArmSequencer::StepsOf(uint32_t node) const {
  const ir::Inst& end = f_.terminator({node});
  if (node < last_.size() && last_[node]) return {};
  if (end.op == Opcode::kForLanes) return {{end.edges[1].to.index}, MayExit({node})};
  if (end.op == Opcode::kEndWarp) return {{static_cast<uint32_t>(f_.blocks.size())}};
  Step step;
  for (const ir::Edge& edge : end.edges) step.to.push_back(edge.to.index);
  return step;
}

// The kernel ends for the lanes of this loop, but not for those that wait.
void ArmSequencer::EndLanes(BlockId loop) {
  for (BlockId block : BodyOf(loop)) {
    ir::Inst& end = f_.inst(f_.at_block(block).insts.back());
    if (end.op != Opcode::kEndLane) continue;
    end.op = Opcode::kExitLane;
    exits_ = true;
  }
}

std::vector<BlockId> ArmSequencer::BodyOf(BlockId loop) const {
  BlockId body = f_.successors(loop)[0].to;
  std::vector<BlockId> blocks = Between(f_, body, kNoBlock, [](BlockId, uint32_t) { return false; });
  blocks.push_back(body);
  return blocks;
}

// Each arm ends the warp on its own: now they meet for that.
BlockId ArmSequencer::CommonEnd(const std::vector<BlockId>& arms) {
  BlockId end = ir::AddBlock(f_, "", Level::kWarp);
  ir::Builder{f_, end}.Terminate(Opcode::kEndWarp);
  for (BlockId block : arms) {
    if (f_.terminator(block).op == Opcode::kEndWarp) Replace(block).Br(end);
  }
  return end;
}

bool ArmSequencer::MayExit(BlockId loop) const {
  return std::ranges::any_of(BodyOf(loop),
                             [&](BlockId b) { return f_.terminator(b).op == Opcode::kExitLane; });
}

// A builder in place of the terminator.
ir::Builder ArmSequencer::Replace(BlockId block) {
  ir::InstId end = f_.at_block(block).insts.back();
  ir::Position at = f_.at_inst(end).at;
  ir::Remove(f_, end);
  return {f_, block, at};
}

ValueId ArmSequencer::Without(ir::Builder& b, ValueId lanes, ValueId gone) {
  return b.Binary(Opcode::kAnd, Type::kI32, lanes, b.Unary(Opcode::kNot, Type::kI32, gone));
}

ValueId ArmSequencer::NonZero(ir::Builder& b, ValueId lanes) {
  return b.Icmp(ir::Compare::kNe, lanes, b.Const(Type::kI32, 0));
}

void ArmSequencer::RunOn(ir::Builder& b, ValueId lanes, BlockId to) {
  b.Make(Opcode::kSetLiveMask, Type::kVoid, {lanes});
  b.Br(to);
}

namespace {

bool EndsKernel(const ir::Function& f, BlockId block) {
  return f.at_block(block).level == Level::kWarp && f.terminator(block).op == Opcode::kExit;
}

// The loops over lanes that nothing follows for their lanes, by block.
std::vector<bool> LastLoops(const ir::Function& f) {
  std::vector<bool> last(f.blocks.size());
  for (BlockId block : ir::ReversePostOrder(f)) {
    last[block.index] =
        f.terminator(block).op == Opcode::kForLanes && EndsKernel(f, f.terminator(block).edges[1].to);
  }
  return last;
}

// A warp's turn ends where its kernel does: its lanes are through, or wait.
void EndWarps(ir::Function& f) {
  for (BlockId block : ir::ReversePostOrder(f)) {
    if (EndsKernel(f, block)) f.inst(f.at_block(block).insts.back()).op = Opcode::kEndWarp;
  }
}

}  // namespace

Status SequenceDivergentArms(ir::Module&, ir::Function& f, const PassOptions&) {
  std::vector<bool> last = LastLoops(f);
  EndWarps(f);
  std::vector<BlockId> branches;
  for (BlockId block : ir::ReversePostOrder(f)) {
    const ir::Inst& end = f.terminator(block);
    if (f.at_block(block).level == Level::kWarp && end.op == Opcode::kCondBr &&
        (end.attrs.flags & ir::kDivergent)) {
      branches.push_back(block);
    }
  }
  if (branches.empty()) return {};
  return ArmSequencer(f, std::move(branches), std::move(last)).Run();
}

}  // namespace ptx2cpu::lowering
