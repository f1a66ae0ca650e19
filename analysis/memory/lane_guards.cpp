#include "analysis/memory/lane_guards.h"

#include <algorithm>

namespace ptx2cpu::analysis {

LaneGuards::LaneGuards(const ir::Function& f, const Cfg& cfg, const DominatorTree& dominators,
                       const LoopForest& loops, const LaneForms& forms)
    : loops_(loops), forms_(forms), loop_of_(cfg.size(), kNoNode), nearest_(cfg.size(), kNoNode) {
  for (uint32_t n = 0; n < loops.loops.size(); ++n) loop_of_[loops.loops[n].header] = n;
  for (const uint32_t node : cfg.order) {  // a node comes after those that dominate it
    const uint32_t above = dominators.parent[node];
    if (above == kNoNode) continue;
    nearest_[node] = nearest_[above];
    AllLimits limits = LimitsOf(f, cfg, node, above);
    if (limits.empty()) continue;
    nearest_[node] = static_cast<uint32_t>(guards_.size());
    guards_.push_back({ir::BlockId{above}, nearest_[above], std::move(limits)});
  }
}

// The condition of the branch in `above` on the lanes that take its edge to the node.
AllLimits LaneGuards::LimitsOf(const ir::Function& f, const Cfg& cfg, uint32_t node, uint32_t above) const {
  const ir::Inst& end = f.terminator(ir::BlockId{above});
  if (end.op != ir::Opcode::kCondBr || cfg.predecessors[node].size() != 1) return {};
  if (end.edges[0].to == end.edges[1].to) return {};
  const LanePredicate& holds = forms_.PredicateOf(end.operands[0]);
  AllLimits limits = end.edges[0].to.index == node ? holds.when_true : holds.when_false;
  std::erase_if(limits, [&](const LaneLimits& one) { return !IsCommonAt(one, above); });
  return limits;
}

// Lanes that have left a loop did so in turns of their own: they share the common part of its counters only
// within the loop.
bool LaneGuards::IsCommonAt(const LaneLimits& limits, uint32_t node) const {
  return forms_.AllOfMadeIn(limits.common, [&](uint32_t block) {
    return loop_of_[block] == kNoNode || loops_.Contains(loop_of_[block], node);
  });
}

uint32_t LaneGuards::LanesAt(ir::BlockId block) const {
  AllLimits all;
  uint32_t looked_at = 0;
  for (uint32_t n = nearest_[block.index]; n != kNoNode && looked_at < kMaxGuards; n = guards_[n].above) {
    all = Together(all, guards_[n].limits);
    ++looked_at;
  }
  return LanesWithin(all);
}

bool LaneGuards::ExcludeEachOther(ir::BlockId a, uint32_t lane_of_a, ir::BlockId b, uint32_t lane_of_b,
                                  const std::function<bool(ir::BlockId branch)>& comes_again) const {
  // A guard is numbered after those above it: the two lists meet where their numbers do.
  uint32_t one = nearest_[a.index], other = nearest_[b.index];
  for (uint32_t looked_at = 0; one != kNoNode && other != kNoNode && looked_at < kMaxGuards; ++looked_at) {
    if (one == other && AreApart(guards_[one].limits, lane_of_a, lane_of_b) &&
        !comes_again(guards_[one].branch))
      return true;
    const uint32_t last = std::max(one, other);
    if (other == last) other = guards_[other].above;
    if (one == last) one = guards_[one].above;
  }
  return false;
}

}  // namespace ptx2cpu::analysis
