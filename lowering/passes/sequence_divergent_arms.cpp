// The second half of masking divergent arms, on the Collapsed form: see mask_divergent_arms.cpp.
//
// Where the ways from a branch have no block in common but the join, one arm runs after the other. Otherwise,
// and where a branch within the arms leads to blocks that other ways lead to as well (a guest), lanes gather
// at each such block t (Diamos et al. 2011: thread frontiers):
//
//     b, guests:  wait.t |= takers ; wait.e |= others ; parked |= live ; br dispatch
//     u -> t:     wait.t |= live ; parked |= live ; br dispatch
//     dispatch:   for the first t in topological order with wait.t != 0
//                 lanes = wait.t ; wait.t = 0 ; parked &= ~lanes ; set_live_mask lanes ; br t
//
// The join is the last: nobody waits any more when lanes go on there.
#include <algorithm>

#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/divergent_arms.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr uint32_t kNoBlock = ~0u;

class ArmSequencer {
 public:
  ArmSequencer(ir::Function& f, std::vector<BlockId> branches, std::vector<bool> last)
      : f_(f), branches_(std::move(branches)), last_(std::move(last)) {}

  Status Run() {
    exits_ = f_.has_early_exit;
    f_.parked_slot = NewSlot();
    f_.has_early_exit = true;
    ClearParked();
    // Inner branches come later in reverse post-order; an outer one then finds what became of them among its
    // blocks.
    for (auto it = branches_.rbegin(); it != branches_.rend(); ++it) Sequence(*it);
    if (!guests_.empty())
      return Fail(ErrorCode::kInternal, "the arms of a divergent branch of '" + f_.name + "' are lost");
    if (!exits_) SayWhereAllRun();
    return {};
  }

 private:
  uint32_t NewSlot() {
    f_.slots.push_back({Type::kI32, Level::kWarp});
    return static_cast<uint32_t>(f_.slots.size() - 1);
  }

  static bool EntersLanes(const ir::Function& f, BlockId from, uint32_t edge) {
    return edge == 0 && f.terminator(from).op == Opcode::kForLanes;
  }
  std::vector<BlockId> WarpBlocksAfter(BlockId block, uint32_t join) const {
    return Between(f_, block, join, [this](BlockId from, uint32_t e) { return EntersLanes(f_, from, e); });
  }

  // Nobody is parked when a warp begins a body that parks lanes.
  void ClearParked() {
    for (BlockId block : ir::ReversePostOrder(f_)) {
      if (f_.terminator(block).op != Opcode::kForWarps) continue;
      BlockId body = f_.successors(block)[0].to;
      std::vector<BlockId> reached = WarpBlocksAfter(body, kNoBlock);
      reached.push_back(body);
      bool parks = std::ranges::any_of(
          reached, [&](BlockId b) { return std::ranges::find(branches_, b) != branches_.end(); });
      if (!parks) continue;
      BlockId clear = ir::AddBlock(f_, "", Level::kWarp);
      ir::Builder b{f_, clear};
      b.SlotStore(f_.parked_slot, b.Const(Type::kI32, 0));
      b.Br(body);
      f_.inst(f_.at_block(block).insts.back()).edges[0].to = clear;
    }
  }

  // Lanes wait in arms only.
  void SayWhereAllRun() {
    in_arm_.resize(f_.blocks.size());
    for (BlockId block : ir::ReversePostOrder(f_)) {
      ir::Inst& end = f_.inst(f_.at_block(block).insts.back());
      if (end.op == Opcode::kForLanes && !in_arm_[block.index]) end.attrs.flags |= ir::kUniform;
    }
  }

  void Sequence(BlockId branch) {
    std::optional<DivergentArms> arms = FindArms(
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
    if (guests.empty() && !Overlap(branch, join)) {
      Build(branch, join, arms->blocks);
    } else {
      Gather(branch, guests, join, arms->blocks);
    }
    settled_.resize(f_.blocks.size());
    for (BlockId block : arms->blocks) settled_[block.index] = true;
    for (size_t b = count; b < f_.blocks.size(); ++b) settled_[b] = true;
  }

  // Lanes of both ways come to one block before the arms meet.
  bool Overlap(BlockId branch, BlockId join) const {
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
  Step StepsOf(uint32_t node) const {
    const ir::Inst& end = f_.terminator({node});
    if (node < last_.size() && last_[node]) return {};
    if (end.op == Opcode::kForLanes) return {{end.edges[1].to.index}, MayExit({node})};
    if (end.op == Opcode::kEndWarp) return {{static_cast<uint32_t>(f_.blocks.size())}};
    Step step;
    for (const ir::Edge& edge : end.edges) step.to.push_back(edge.to.index);
    return step;
  }

  // The kernel ends for the lanes of this loop, but not for those that wait.
  void EndLanes(BlockId loop) {
    for (BlockId block : BodyOf(loop)) {
      ir::Inst& end = f_.inst(f_.at_block(block).insts.back());
      if (end.op != Opcode::kEndLane) continue;
      end.op = Opcode::kExitLane;
      exits_ = true;
    }
  }
  std::vector<BlockId> BodyOf(BlockId loop) const {
    BlockId body = f_.successors(loop)[0].to;
    std::vector<BlockId> blocks = Between(f_, body, kNoBlock, [](BlockId, uint32_t) { return false; });
    blocks.push_back(body);
    return blocks;
  }

  // The arms end the warp, each by itself: now they meet for that.
  BlockId CommonEnd(const std::vector<BlockId>& arms) {
    BlockId end = ir::AddBlock(f_, "", Level::kWarp);
    ir::Builder{f_, end}.Terminate(Opcode::kEndWarp);
    for (BlockId block : arms) {
      if (f_.terminator(block).op == Opcode::kEndWarp) Replace(block).Br(end);
    }
    return end;
  }

  struct Plan {
    ir::Position at;
    uint32_t arrived = 0, pending = 0;  // slots
    BlockId join, meet, next, rejoin;
  };
  BlockId Place(const char* label) { return ir::AddBlock(f_, label, Level::kWarp); }

  void Build(BlockId branch, BlockId join, const std::vector<BlockId>& arms) {
    const ir::Inst old = f_.terminator(branch);
    BlockId first = old.edges[0].to, second = old.edges[1].to;
    ir::Builder b = Replace(branch);
    if (first == join && second == join) {
      b.Br(join);
      return;
    }
    Plan plan{old.at, NewSlot(), 0, join, Place("arms_meet"), {}, Place("rejoin")};
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
      plan.pending = NewSlot();
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

  // The way through the second arm; returns the block that enters it when nobody takes the first.
  BlockId BuildSecond(Plan& plan, BlockId second) {
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

  // Arms come to `meet` instead of the join, and to `next` when all their lanes have exited; true when they
  // may.
  bool Redirect(const std::vector<BlockId>& arms, const Plan& plan) {
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

  bool MayExit(BlockId loop) const {
    return std::ranges::any_of(BodyOf(loop),
                               [&](BlockId b) { return f_.terminator(b).op == Opcode::kExitLane; });
  }

  void BuildRejoin(const Plan& plan, bool exits) {
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
      // Around the outermost branch nobody waits: for_lanes ends the warp.
      ir::Builder{f_, lost}.Terminate(Opcode::kUnreachable);
      lost_.push_back(lost);
    }
    ir::Builder b{f_, resume, plan.at};
    ValueId arrived = b.SlotLoad(plan.arrived);
    b.SlotStore(f_.parked_slot, Without(b, b.SlotLoad(f_.parked_slot), arrived));
    RunOn(b, arrived, plan.join);
  }

  // -- lanes gather where several ways lead --

  struct Target {
    BlockId block;
    uint32_t wait;  // slot: lanes that have come
    BlockId arrive;
  };

  void Gather(BlockId root, const std::vector<BlockId>& guests, BlockId join,
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
  std::vector<BlockId> Meets(const std::vector<BlockId>& branches, BlockId join,
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
      bool settled = block.index < settled_.size() && settled_[block.index];
      if (block == join || settled || entries[block.index] < 2) continue;
      if (std::ranges::find(arms, block) != arms.end()) meets.push_back(block);
    }
    meets.push_back(join);
    return meets;
  }

  BlockId BuildDispatch(const std::vector<Target>& targets, const ir::Position& at) {
    // Around the outermost branch nobody waits: for_lanes ends the warp.
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

  void Divide(ir::Builder& b, const ir::Inst& old, const std::vector<Target>& targets, BlockId dispatch) {
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

  void RedirectToWait(BlockId block, std::vector<Target>& targets, BlockId dispatch, const ir::Position& at) {
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

  static void AddTo(ir::Builder& b, uint32_t slot, ValueId lanes) {
    b.SlotStore(slot, b.Binary(Opcode::kOr, Type::kI32, b.SlotLoad(slot), lanes));
  }
  static ValueId NonZero(ir::Function& f, BlockId block, uint32_t slot, const ir::Position& at) {
    ir::Builder b{f, block, at};
    return NonZero(b, b.SlotLoad(slot));
  }

  // A builder in place of the terminator.
  ir::Builder Replace(BlockId block) {
    ir::InstId end = f_.at_block(block).insts.back();
    ir::Position at = f_.at_inst(end).at;
    ir::Remove(f_, end);
    return {f_, block, at};
  }
  static ValueId Without(ir::Builder& b, ValueId lanes, ValueId gone) {
    return b.Binary(Opcode::kAnd, Type::kI32, lanes, b.Unary(Opcode::kNot, Type::kI32, gone));
  }
  static ValueId NonZero(ir::Builder& b, ValueId lanes) {
    return b.Icmp(ir::Compare::kNe, lanes, b.Const(Type::kI32, 0));
  }
  static void RunOn(ir::Builder& b, ValueId lanes, BlockId to) {
    b.Make(Opcode::kSetLiveMask, Type::kVoid, {lanes});
    b.Br(to);
  }

  ir::Function& f_;
  std::vector<BlockId> branches_;
  std::vector<bool> in_arm_, last_;  // last_: loops in which all lanes end
  std::vector<BlockId> guests_;      // wait for the branch in whose arms they are
  std::vector<bool> settled_;        // of arms that have been built
  bool exits_ = false;               // lanes may end before others
  std::vector<BlockId> lost_;        // where inner branches go that no lane has come through
};

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
