// Collectives in the arms of a branch on which the lanes of a warp differ (tier T1): the arms run one after
// the other, each by its own lanes; the others are parked. COX (section 3.3) asks all lanes to agree here
// instead.
//
//   before (Split)                                 after (Split)
//     b [warp]: %u = agree %p                        b [warp]: cond_br %p, t, e {divergent}
//               cond_br %u, t, e
//
//   collapse calls SequenceDivergentArms, which makes of it at warp level (j: where the arms meet)
//     b:      %live = live_mask ; %t = ballot %p, %live ; arrived = 0 ; pending = %live & ~%t ; %t != 0 ?
//     first : only first:  parked |= pending ; set_live_mask %t ; br t              only: pending = 0 ; br e
//     meet:   arrived |= live_mask ; br next                           (where edges of the arms led to j)
//     next:   pending != 0 ? second : rejoin
//     second: %e = pending ; pending = 0 ; parked = (parked & ~%e) | arrived ; set_live_mask %e ; br e
//     rejoin: parked &= ~arrived ; set_live_mask arrived ; br j
//
// set_live_mask stands last: the lanes that go on are others than those that computed. Lanes that agree take
// one way. Where the lanes of an arm may all exit, its for_lanes gets a third edge, to `next`; a rejoin that
// nobody has come to goes to `next` of the branch around it. The first half comes before slots are made, so
// that what the arms leave different gets a slot for each lane. A branch stays with its agreement when an arm
// leads back to it (lanes would leave a loop at different trips), and when an arm can be entered from
// elsewhere.
#include "lowering/passes/mask_divergent_arms.h"

#include <algorithm>

#include "analysis/uniformity.h"
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

// -- Split: which branches --

class ArmFinder {
 public:
  explicit ArmFinder(ir::Function& f) : f_(f) {}

  // Candidates are branches whose agreement is not known to hold.
  std::vector<BlockId> Candidates(const analysis::UniformityResult& uniformity) const {
    std::vector<BlockId> candidates;
    for (BlockId block : ir::ReversePostOrder(f_)) {
      const ir::Inst* agree = AgreeOf(block);
      if (agree != nullptr && !uniformity.UniformAt(agree->operands[0], Level::kWarp))
        candidates.push_back(block);
    }
    return candidates;
  }

  // The graph does not change when branches are marked, so this is found once.
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

  std::optional<DivergentArms> ArmsOf(BlockId branch) const {
    std::optional<DivergentArms> arms = FindArms(
        f_, branch, [this](uint32_t node) { return StepsOf(node); },
        [this](BlockId from, uint32_t edge) {
          return f_.at_block(f_.successors(from)[edge].to).level == Level::kBlock;
        });
    // Warps that resume come to barriers at warp level: not with lanes that wait in another arm.
    if (arms && std::ranges::any_of(arms->blocks, [this](BlockId block) {
          return std::ranges::any_of(f_.at_block(block).insts,
                                     [this](ir::InstId id) { return ir::IsBarrier(f_.at_inst(id).op); });
        })) {
      return {};
    }
    return arms;
  }

  void Mark(BlockId block, bool orders) {
    ir::InstId branch = f_.at_block(block).insts.back();
    if (orders && WantsSecondFirst(block, AgreeOf(block)->operands[0])) Swap(block);
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

  // -- which lanes end first, where both ways end --

  // A membermask that names lanes of the other way waits until they have ended. Otherwise the longer way is
  // what is left after an early end.
  bool WantsSecondFirst(BlockId branch, ValueId decision) const {
    std::vector<BlockId> ways[2];
    bool names[2] = {};
    for (size_t i : {0, 1}) {
      BlockId head = f_.successors(branch)[i].to;
      ways[i] = Between(f_, head, branch.index, [](BlockId, uint32_t) { return false; });
      ways[i].push_back(head);
      names[i] = std::ranges::any_of(ways[i], [&](BlockId block) {
        return std::ranges::any_of(f_.at_block(block).insts, [&](ir::InstId id) {
          const ir::Inst& inst = f_.at_inst(id);
          bool masked =
              ir::IsCollective(inst.op) && !(inst.attrs.flags & ir::kLegacy) && !inst.operands.empty();
          return masked && !KnowsWay(inst.operands.back(), decision, ways[i]);
        });
      });
    }
    return names[0] != names[1] ? names[0] : ways[0].size() > ways[1].size();
  }

  // Whether a mask comes from asking who decides how at the branch, or who is here on a way.
  bool KnowsWay(ValueId mask, ValueId decision, const std::vector<BlockId>& way) const {
    std::vector<ValueId> work{mask};
    std::vector<bool> seen(f_.values.size());
    for (size_t i = 0; i < work.size(); ++i) {
      ValueId value = work[i];
      if (seen[value.index]) continue;
      seen[value.index] = true;
      const ir::Value& source = f_.at_value(value);
      if (!source.def.valid()) {
        for (BlockId from : ir::ReversePostOrder(f_)) {
          for (const ir::Edge& edge : f_.successors(from)) {
            if (edge.to == source.block) work.push_back(edge.args[source.number]);
          }
        }
        continue;
      }
      const ir::Inst& inst = f_.at_inst(source.def);
      if (inst.op == Opcode::kBallot && inst.operands[0] == decision) return true;
      if (inst.op == Opcode::kActiveMask && std::ranges::find(way, source.block) != way.end()) return true;
      work.insert(work.end(), inst.operands.begin(), inst.operands.end());
    }
    return false;
  }

  // The opposite of the decision is made where lanes make the decision.
  void Swap(BlockId block) {
    const ir::Inst agree = *AgreeOf(block);
    const ir::Value decision = f_.at_value(agree.operands[0]);
    if (!decision.def.valid() || f_.at_block(decision.block).level != Level::kLane) return;
    const std::vector<ir::InstId>& insts = f_.at_block(decision.block).insts;
    ir::Inst negation;
    negation.op = Opcode::kNot;
    negation.type = Type::kI1;
    negation.operands = {agree.operands[0]};
    negation.at = agree.at;
    auto after = static_cast<size_t>(std::ranges::find(insts, decision.def) - insts.begin()) + 1;
    ir::InstId id = ir::Insert(f_, decision.block, after, std::move(negation));
    f_.inst(f_.at_value(agree.results[0]).def).operands[0] = f_.at_inst(id).results[0];
    ir::Inst& branch = f_.inst(f_.at_block(block).insts.back());
    std::swap(branch.edges[0], branch.edges[1]);
  }

  // A block barrier ends the warp's turn; lanes that leave a region to end there do not decide where it
  // leads.
  Step StepsOf(uint32_t node) const {
    auto turn_end = static_cast<uint32_t>(f_.blocks.size());
    Step step;
    if (doomed_[node]) return step;
    bool region = f_.at_block({node}).level == Level::kLane;
    for (const ir::Edge& edge : f_.successors({node})) {
      if (region && doomed_[edge.to.index]) {
        step.some_end = true;
      } else {
        step.to.push_back(f_.at_block(edge.to).level == Level::kBlock ? turn_end : edge.to.index);
      }
    }
    return step;
  }

  ir::Function& f_;
  std::vector<bool> doomed_;  // no boundary can be reached
};

// -- Collapsed: their arms in sequence --

class ArmSequencer {
 public:
  ArmSequencer(ir::Function& f, std::vector<BlockId> branches, const std::vector<BlockId>& last_loops)
      : f_(f), branches_(std::move(branches)), last_(f.blocks.size()) {
    for (BlockId loop : last_loops) last_[loop.index] = true;
  }

  Status Run() {
    exits_ = f_.has_early_exit;
    f_.parked_slot = NewSlot();
    f_.has_early_exit = true;
    ClearParked();
    // Inner branches come later in reverse post-order; an outer one then finds what became of them among its
    // blocks.
    for (auto it = branches_.rbegin(); it != branches_.rend(); ++it) TRY_STATUS(Sequence(*it));
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

  Status Sequence(BlockId branch) {
    std::optional<DivergentArms> arms = FindArms(
        f_, branch, [this](uint32_t node) { return StepsOf(node); },
        [this](BlockId from, uint32_t e) { return EntersLanes(f_, from, e); });
    if (!arms)
      return Fail(ErrorCode::kInternal, "the arms of a divergent branch of '" + f_.name + "' are lost");
    in_arm_.resize(f_.blocks.size());
    last_.resize(f_.blocks.size());
    for (BlockId block : arms->blocks) {
      in_arm_[block.index] = true;
      if (last_[block.index]) EndLanes(block);
    }
    BlockId join{arms->join};
    if (join.index == f_.blocks.size()) join = CommonEnd(arms->blocks);
    Build(branch, join, arms->blocks);
    return {};
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
  bool exits_ = false;               // lanes may end before others
  std::vector<BlockId> lost_;        // where inner branches go that no lane has come through
};

}  // namespace

Status MaskDivergentArms(ir::Module&, ir::Function& f, const PassOptions& options) {
  ArmFinder finder(f);
  bool prepared = false;
  for (bool changed = true; changed;) {
    changed = false;
    // A branch that is marked makes values differ that decide further ones.
    for (BlockId branch : finder.Candidates(analysis::AnalyzeUniformity(f, options.launch))) {
      if (!prepared) finder.FindDoomed();
      prepared = true;
      std::optional<DivergentArms> arms = finder.ArmsOf(branch);
      if (!arms) continue;
      finder.Mark(branch, arms->all_end);
      changed = true;
    }
  }
  return {};
}

Status SequenceDivergentArms(ir::Function& f, const std::vector<BlockId>& last_loops) {
  std::vector<BlockId> branches;
  for (BlockId block : ir::ReversePostOrder(f)) {
    const ir::Inst& end = f.terminator(block);
    if (f.at_block(block).level == Level::kWarp && end.op == Opcode::kCondBr &&
        (end.attrs.flags & ir::kDivergent)) {
      branches.push_back(block);
    }
  }
  if (branches.empty()) return {};
  return ArmSequencer(f, std::move(branches), last_loops).Run();
}

}  // namespace ptx2cpu::lowering
