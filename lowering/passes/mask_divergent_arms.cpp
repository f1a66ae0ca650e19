// Collectives in the arms of a branch on which the lanes of a warp differ (tier T1): the arms run one after the other,
// each by its own lanes; the others are parked. COX (section 3.3) asks all lanes to agree here instead.
//
//   before (Split)                                 after (Split)
//     b [warp]: %u = agree %p                        b [warp]: cond_br %p, t, e {divergent}
//               cond_br %u, t, e
//
//   collapse calls SequenceDivergentArms, which makes of it at warp level (j: where the arms meet)
//     b:      %live = live_mask ; %t = ballot %p, %live ; saved = %live ; pending = %live & ~%t ; %t != 0 ? first : only
//     first:  parked |= pending ; set_live_mask %t ; br t              only: pending = 0 ; br e
//     meet:   pending != 0 ? second : rejoin                           (where edges of the arms led to j)
//     second: %e = pending ; pending = 0 ; parked = (parked | saved) & ~%e ; set_live_mask %e ; br e
//     rejoin: parked &= ~saved ; set_live_mask saved ; br j
//
// set_live_mask stands last: the lanes that go on are others than those that computed. Lanes that agree take one way.
// The first half comes before slots are made, so that what the arms leave different gets a slot for each lane. A branch
// stays with its agreement when an arm leads back to it (different trip counts), when lanes end their kernel in an arm
// while others go on, and when an arm can be entered from elsewhere.
#include "lowering/passes/mask_divergent_arms.h"

#include <algorithm>

#include "analysis/dominators.h"
#include "analysis/regions.h"
#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

// Whether lanes do not take this edge together with their warp.
using Skips = std::function<bool(BlockId from, uint32_t edge)>;

// Blocks reached from the successors of `branch` without entering `join`.
std::vector<BlockId> Between(const ir::Function& f, BlockId branch, uint32_t join, const Skips& skips) {
  std::vector<bool> seen(f.blocks.size());
  std::vector<BlockId> blocks;
  auto enter = [&](BlockId from) {
    for (uint32_t e = 0; e < f.successors(from).size(); ++e) {
      BlockId to = f.successors(from)[e].to;
      if (to.index == join || seen[to.index] || skips(from, e)) continue;
      seen[to.index] = true;
      blocks.push_back(to);
    }
  };
  enter(branch);
  for (size_t i = 0; i < blocks.size(); ++i) enter(BlockId{blocks[i]});
  return blocks;
}

// -- Split: which branches --

class ArmFinder {
 public:
  explicit ArmFinder(ir::Function& f) : f_(f) {}

  // Candidates are branches whose agreement is not known to hold.
  std::vector<BlockId> Candidates(const analysis::UniformityResult& uniformity) const {
    std::vector<BlockId> candidates;
    for (BlockId block : ir::ReversePostOrder(f_)) {
      const ir::Inst* agree = AgreeOf(block);
      if (agree != nullptr && !uniformity.UniformAt(agree->operands[0], Level::kWarp)) candidates.push_back(block);
    }
    return candidates;
  }

  // The graph does not change when branches are marked, so this is computed once.
  void Prepare() {
    FindDoomed();
    lanes_ = analysis::FindRegions(f_, Level::kWarp);
    warps_ = analysis::FindRegions(f_, Level::kBlock);
    // Lanes that leave a region to end there do not decide where the region leads.
    graph_ = analysis::BuildCfg(f_, [&](BlockId from, uint32_t edge) {
      bool leaves = doomed_[f_.successors(from)[edge].to.index] && !doomed_[from.index];
      return !leaves || f_.at_block(from).level != Level::kLane;
    });
    post_ = analysis::PostDominators(graph_);
  }

  bool Eligible(BlockId branch) const {
    uint32_t join = post_.parent[branch.index];
    if (join == analysis::kNoNode) return false;
    std::vector<BlockId> arms = Between(f_, branch, join, [](BlockId, uint32_t) { return false; });
    std::vector<bool> inside(f_.blocks.size());
    for (BlockId block : arms) {
      if (block == branch || f_.at_block(block).level == Level::kBlock) return false;
      if (EndsLanes(block) && !(join == graph_.exit && IsLast(block))) return false;
      inside[block.index] = true;
    }
    for (BlockId from : ir::ReversePostOrder(f_)) {
      if (from == branch || inside[from.index]) continue;
      for (const ir::Edge& edge : f_.successors(from)) {
        if (inside[edge.to.index]) return false;
      }
    }
    return true;
  }

  void Mark(BlockId block) {
    ir::InstId branch = f_.at_block(block).insts.back();
    const ir::Inst& agree = *AgreeOf(block);
    ir::InstId id = f_.at_value(agree.results[0]).def;
    ir::ReplaceUses(f_, ValueId{agree.results[0]}, ValueId{agree.operands[0]});
    ir::Remove(f_, id);
    f_.inst(branch).attrs.flags |= ir::kDivergent;
  }

 private:
  const ir::Inst* AgreeOf(BlockId block) const {
    const ir::Inst& branch = f_.terminator(block);
    if (f_.at_block(block).level != Level::kWarp || branch.op != Opcode::kCondBr) return nullptr;
    const ir::Value& decision = f_.at_value(branch.operands[0]);
    if (!decision.def.valid() || decision.block != block) return nullptr;
    const ir::Inst& def = f_.at_inst(decision.def);
    return def.op == Opcode::kAgree ? &def : nullptr;
  }

  bool EndsLanes(BlockId block) const {
    Opcode end = f_.terminator(block).op;
    return end == Opcode::kRet || end == Opcode::kExit;
  }

  // No region follows for any lane: to end here is to come to the end of the warp.
  bool IsLast(BlockId block) const {
    if (f_.at_block(block).level != Level::kLane) return true;
    uint32_t lane = lanes_.region_of[block.index], warp = warps_.region_of[block.index];
    return lane < lanes_.regions.size() && warp < warps_.regions.size() && lanes_.regions[lane].next.empty() &&
           warps_.regions[warp].next.empty();
  }

  // From which no boundary can be reached.
  void FindDoomed() {
    doomed_.assign(f_.blocks.size(), true);
    std::vector<BlockId> order = ir::ReversePostOrder(f_);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        bool doomed = f_.at_block(*it).level == Level::kLane;
        for (const ir::Edge& edge : f_.successors(*it)) doomed = doomed && doomed_[edge.to.index];
        changed |= doomed != doomed_[it->index];
        doomed_[it->index] = doomed;
      }
    }
  }

  ir::Function& f_;
  std::vector<bool> doomed_;
  analysis::RegionMap lanes_, warps_;
  analysis::Cfg graph_;
  analysis::DominatorTree post_;
};

// -- Collapsed: their arms in sequence --

class ArmSequencer {
 public:
  ArmSequencer(ir::Function& f, std::vector<BlockId> branches) : f_(f), branches_(std::move(branches)) {}

  void Run() {
    f_.parked_slot = NewSlot();
    f_.has_early_exit = true;
    ClearParked();
    // Inner branches come later in reverse post-order; an outer one then finds what became of them among its blocks.
    for (auto it = branches_.rbegin(); it != branches_.rend(); ++it) Sequence(*it);
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
      std::vector<BlockId> reached = WarpBlocksAfter(body, analysis::kNoNode);
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

  void Sequence(BlockId branch) {
    analysis::Cfg graph = analysis::BuildCfg(f_, [this](BlockId from, uint32_t e) { return !EntersLanes(f_, from, e); });
    uint32_t meet = analysis::PostDominators(graph).parent[branch.index];
    CHECK(meet != analysis::kNoNode);
    std::vector<BlockId> arms = WarpBlocksAfter(branch, meet);
    CHECK(std::ranges::find(arms, branch) == arms.end(), "an arm of a divergent branch leads back to it");
    BlockId join{meet};
    if (meet == graph.exit) join = CommonEnd(arms);
    Build(branch, join, arms);
  }

  // The arms end the warp, each by itself: now they meet for that.
  BlockId CommonEnd(const std::vector<BlockId>& arms) {
    BlockId end = ir::AddBlock(f_, "", Level::kWarp);
    ir::Builder{f_, end}.Terminate(Opcode::kEndWarp);
    for (BlockId block : arms) {
      if (f_.terminator(block).op != Opcode::kEndWarp) continue;
      ir::Remove(f_, ir::InstId{f_.at_block(block).insts.back()});
      ir::Builder{f_, block}.Br(end);
    }
    return end;
  }

  struct Plan {
    ir::Position at;
    uint32_t saved = 0, pending = 0;  // slots
    BlockId join, rejoin, meet;
  };

  void Build(BlockId branch, BlockId join, const std::vector<BlockId>& arms) {
    const ir::Inst old = f_.terminator(branch);
    BlockId first = old.edges[0].to, second = old.edges[1].to;
    ir::Remove(f_, ir::InstId{f_.at_block(branch).insts.back()});
    ir::Builder b{f_, branch, old.at};
    if (first == join && second == join) {
      b.Br(join);
      return;
    }
    Plan plan{old.at, NewSlot(), 0, join, ir::AddBlock(f_, "rejoin", Level::kWarp), {}};
    ValueId live = b.Inst1(Opcode::kLiveMask, Type::kVoid, {});
    ValueId takers = b.Inst1(Opcode::kBallot, Type::kVoid, {old.operands[0], live}, {.flags = ir::kLegacy});
    ValueId others = Without(b, live, takers);
    if (first == join) {
      std::swap(first, second);
      std::swap(takers, others);
    }
    b.SlotStore(plan.saved, live);
    BlockId enter = ir::AddBlock(f_, "first_arm", Level::kWarp), otherwise = join;
    plan.meet = plan.rejoin;
    if (second != join) {
      plan.pending = NewSlot();
      b.SlotStore(plan.pending, others);
      otherwise = BuildSecond(plan, second);
    }
    Redirect(arms, plan);
    b.CondBr(NonZero(b, takers), {enter, {}}, {otherwise, {}});
    ir::Builder in{f_, enter, plan.at};
    in.SlotStore(f_.parked_slot, in.Binary(Opcode::kOr, Type::kI32, in.SlotLoad(f_.parked_slot), others));
    RunOn(in, takers, first);
    ir::Builder out{f_, plan.rejoin, plan.at};
    ValueId saved = out.SlotLoad(plan.saved);
    out.SlotStore(f_.parked_slot, Without(out, out.SlotLoad(f_.parked_slot), saved));
    RunOn(out, saved, join);
  }

  // The way through the second arm; returns the block that enters it when nobody takes the first.
  BlockId BuildSecond(Plan& plan, BlockId second) {
    plan.meet = ir::AddBlock(f_, "arms_meet", Level::kWarp);
    BlockId enter = ir::AddBlock(f_, "second_arm", Level::kWarp), only = ir::AddBlock(f_, "second_arm_only", Level::kWarp);
    ir::Builder meet{f_, plan.meet, plan.at};
    meet.CondBr(NonZero(meet, meet.SlotLoad(plan.pending)), {enter, {}}, {plan.rejoin, {}});
    ir::Builder b{f_, enter, plan.at};
    ValueId lanes = b.SlotLoad(plan.pending);
    b.SlotStore(plan.pending, b.Const(Type::kI32, 0));
    ValueId all = b.Binary(Opcode::kOr, Type::kI32, b.SlotLoad(f_.parked_slot), b.SlotLoad(plan.saved));
    b.SlotStore(f_.parked_slot, Without(b, all, lanes));
    RunOn(b, lanes, second);
    ir::Builder alone{f_, only, plan.at};
    alone.SlotStore(plan.pending, alone.Const(Type::kI32, 0));
    alone.Br(second);
    return only;
  }

  void Redirect(const std::vector<BlockId>& arms, const Plan& plan) {
    for (BlockId block : arms) {
      for (ir::Edge& edge : f_.inst(f_.at_block(block).insts.back()).edges) {
        if (edge.to == plan.join) edge.to = plan.meet;
      }
    }
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
};

}  // namespace

Status MaskDivergentArms(ir::Module&, ir::Function& f, const PassOptions& options) {
  ArmFinder finder(f);
  bool prepared = false;
  for (bool changed = true; changed;) {
    changed = false;
    // A branch that is marked makes values differ that decide further ones.
    for (BlockId branch : finder.Candidates(analysis::AnalyzeUniformity(f, options.launch))) {
      if (!prepared) finder.Prepare();
      prepared = true;
      if (!finder.Eligible(branch)) continue;
      finder.Mark(branch);
      changed = true;
    }
  }
  return {};
}

void SequenceDivergentArms(ir::Function& f) {
  std::vector<BlockId> branches;
  for (BlockId block : ir::ReversePostOrder(f)) {
    const ir::Inst& end = f.terminator(block);
    if (f.at_block(block).level == Level::kWarp && end.op == Opcode::kCondBr && (end.attrs.flags & ir::kDivergent)) {
      branches.push_back(block);
    }
  }
  if (!branches.empty()) ArmSequencer(f, std::move(branches)).Run();
}

}  // namespace ptx2cpu::lowering
