// Collectives in the arms of a branch on which the lanes of a warp differ (tier T1): the arms run one after
// the other, each by its own lanes; the others are parked. COX (section 3.3) requires all lanes to agree here
// instead.
//
//   before (Split)                                 after (Split)
//     b [warp]: %u = agree %p                        b [warp]: cond_br %p, t, e {divergent}
//               cond_br %u, t, e
//
//   sequence-divergent-arms makes of it at warp level, after collapse (j: where the arms meet)
//     b:      %live = live_mask ; %t = ballot %p, %live ; arrived = 0 ; pending = %live & ~%t
//             %t != 0 ? first : only
//     first:  parked |= pending ; set_live_mask %t ; br t              only: pending = 0 ; br e
//     meet:   arrived |= live_mask ; br next                           (where edges of the arms led to j)
//     next:   pending != 0 ? second : rejoin
//     second: %e = pending ; pending = 0 ; parked = (parked & ~%e) | arrived ; set_live_mask %e ; br e
//     rejoin: parked &= ~arrived ; set_live_mask arrived ; br j
//
// set_live_mask is last: the lanes that continue differ from those that computed. Lanes that agree take one
// way. Where the lanes of an arm may all exit, its for_lanes gets a third edge, to `next`; a rejoin that no
// lane has reached goes to `next` of the branch around it. The first half, here, comes before slots are made,
// so that values that differ between the arms get a slot for each lane; the second is
// sequence_divergent_arms.cpp. A branch stays with its agreement when an arm leads back to it (lanes would
// leave a loop at different trips).
#include "lowering/passes/mask_divergent_arms.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "analysis/values/uniformity.h"
#include "ir/build.h"
#include "ir/edit.h"
#include "lowering/passes.h"
#include "lowering/passes/diagnose.h"
#include "lowering/passes/divergent_arms.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

// Blocks of all arms that are looked at, for each block of the function: where lanes that have left a loop
// run all that follows it before the others continue, each loop's arms hold those of all later ones.
constexpr size_t kMaxOfArms = 64, kFewOfArms = 20000;

class ArmFinder {
 public:
  explicit ArmFinder(ir::Function& f) : f_(f) {}
  // Whether what has been looked at grows with the square of the function.
  bool HasTooMany() const { return of_arms_ > std::max(kFewOfArms, kMaxOfArms * f_.blocks.size()); }

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
  void Prepare() {
    if (closed_) return;
    FindDoomed();
    FindBarriers();
    closed_.emplace(f_, [this](uint32_t node) { return StepsOf(node); }, SkipsBarriers());
  }

  std::optional<DivergentArms> ArmsOf(BlockId branch) {
    if (!closed_->JoinOf(branch) && BothWaysHaveBarriers(branch)) return {};
    std::optional<DivergentArms> arms =
        closed_->Find(f_, branch, [this](uint32_t node) { return StepsOf(node); }, SkipsBarriers());
    of_arms_ += arms ? arms->blocks.size() : 0;
    // Resumable warps reach barriers at warp level: not with lanes that wait in another arm.
    if (arms &&
        std::ranges::any_of(arms->blocks, [this](BlockId block) { return has_barrier_[block.index]; }))
      return {};
    return arms;
  }

  // A branch whose arms can be entered from elsewhere runs within the arms of the closest branch around it
  // that has arms of its own. That branch is then masked as well.
  bool Host(BlockId guest) {
    if (hosts_.empty()) FindHosts();
    const BlockId host = hosts_[guest.index].branch;
    if (!host.valid()) return false;
    const std::vector<BlockId> later = Between(f_, guest, ArmsOf(host)->join, SkipsBarriers());
    if (std::ranges::find(later, guest) != later.end()) return false;
    if (AgreeOf(host) != nullptr) Mark(host, false);
    return true;
  }

  void Mark(BlockId block, bool orders) {
    ir::InstId branch = f_.at_block(block).insts.back();
    if (orders && WantsSecondFirst(block, AgreeOf(block)->operands[0])) Swap(block);
    marked_.push_back(f_.at_value(AgreeOf(block)->results[0]).def);
    f_.inst(branch).attrs.flags |= ir::kDivergent;
  }

  // The decisions of marked branches are no agreements any more.
  void RemoveAgreements() {
    std::vector<ValueId> replaced(f_.values.size());
    for (ir::InstId id : marked_) {
      const ir::Inst& agree = f_.at_inst(id);
      replaced[agree.results[0].index] = agree.operands[0];
    }
    if (!marked_.empty()) ir::ReplaceUses(f_, replaced);
    ir::RemoveAll(f_, std::exchange(marked_, {}));
  }

 private:
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

  void FindBarriers() {
    has_barrier_.assign(f_.blocks.size(), false);
    met_.assign(f_.blocks.size(), 0);
    for (BlockId block : ir::ReversePostOrder(f_)) {
      has_barrier_[block.index] = std::ranges::any_of(
          f_.at_block(block).insts, [this](ir::InstId id) { return ir::IsBarrier(f_.at_inst(id).op); });
    }
  }

  // Whether both ways come to barriers before they share a block: wherever the arms meet, one has a barrier.
  // Where threads wait in many loops in turn, this looks at one loop, where FindArms looks at all that
  // follow.
  bool BothWaysHaveBarriers(BlockId branch) {
    const Skips skips = SkipsBarriers();
    const uint32_t first = ++mark_, second = ++mark_;
    for (const uint32_t mark : {first, second}) {
      std::vector<BlockId> work{branch};
      bool barrier = false;
      while (!work.empty()) {
        const BlockId from = work.back();
        work.pop_back();
        const std::span<const ir::Edge> edges = f_.successors(from);
        for (uint32_t e = 0; e < edges.size(); ++e) {
          const BlockId to = edges[e].to;
          const bool other_way = from == branch && e != mark - first;
          if (other_way || to == branch || met_[to.index] == mark || skips(from, e)) continue;
          if (met_[to.index] == first) return false;
          met_[to.index] = mark;
          barrier |= has_barrier_[to.index];
          if (!has_barrier_[to.index]) work.push_back(to);
        }
      }
      if (!barrier) return false;
    }
    return true;
  }

  // For each block, the branch with the smallest arms that hold it. Marked branches stay candidates.
  void FindHosts() {
    hosts_.resize(f_.blocks.size());
    for (BlockId branch : ir::ReversePostOrder(f_)) {
      const ir::Inst& end = f_.terminator(branch);
      const bool marked = end.op == Opcode::kCondBr && (end.attrs.flags & ir::kDivergent);
      if (!marked && AgreeOf(branch) == nullptr) continue;
      const std::optional<DivergentArms> arms = ArmsOf(branch);
      if (!arms) continue;
      for (BlockId block : arms->blocks) {
        HostOfBlock& host = hosts_[block.index];
        if (!host.branch.valid() || arms->blocks.size() < host.size) host = {branch, arms->blocks.size()};
      }
    }
  }

  Skips SkipsBarriers() const {
    return [this](BlockId from, uint32_t edge) {
      return f_.at_block(f_.successors(from)[edge].to).level == Level::kBlock;
    };
  }

  const ir::Inst* AgreeOf(BlockId block) const {
    const ir::Inst& branch = f_.terminator(block);
    if (f_.at_block(block).level != Level::kWarp || branch.op != Opcode::kCondBr) return nullptr;
    if (branch.attrs.flags & ir::kDivergent) return nullptr;  // marked
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

  // Whether a mask comes from a vote on the branch's decision, or from a vote of the lanes that are present
  // on a path.
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
    hosts_.clear();  // other arms may be its best ones
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

  struct HostOfBlock {
    BlockId branch;
    size_t size = 0;  // of its arms, in blocks
  };

  ir::Function& f_;
  std::vector<bool> has_barrier_;   // by block
  std::vector<uint32_t> met_;       // by block: the last walk that came to it
  uint32_t mark_ = 0;               // of the last walk
  size_t of_arms_ = 0;              // blocks of all arms found so far
  std::vector<HostOfBlock> hosts_;  // by block; empty: not known
  std::vector<bool> doomed_;        // no boundary can be reached
  std::optional<ClosedArms> closed_;
  std::vector<ir::InstId> marked_;  // agreements to be removed
};

}  // namespace

Status MaskDivergentArms(ir::Module& module, ir::Function& f, const PassOptions& options) {
  ArmFinder finder(f);
  for (bool changed = true; changed;) {
    changed = false;
    // A branch that is marked makes values differ that decide further ones.
    for (BlockId branch : finder.Candidates(analysis::AnalyzeUniformity(f, options.launch))) {
      finder.Prepare();
      std::optional<DivergentArms> arms = finder.ArmsOf(branch);
      const bool is_marked = arms || finder.Host(branch);
      if (finder.HasTooMany()) {
        return Unsupported(module, f.at, "arms of divergent branches that hold each other's, too many",
                           "only the lanes tier (--exec=lanes, or auto) runs this kernel");
      }
      if (!is_marked) continue;
      finder.Mark(branch, arms && arms->all_end);
      changed = true;
    }
    finder.RemoveAgreements();
  }
  return {};
}

std::function<std::optional<std::vector<BlockId>>(BlockId)> BlocksOfArms(ir::Function& f) {
  const auto finder = std::make_shared<ArmFinder>(f);
  finder->Prepare();
  return [finder](BlockId branch) -> std::optional<std::vector<BlockId>> {
    std::optional<DivergentArms> arms = finder->ArmsOf(branch);
    if (!arms) return {};
    return std::move(arms->blocks);
  };
}

}  // namespace ptx2cpu::lowering
