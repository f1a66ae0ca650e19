#include "analysis/memory/lane_guards.h"

#include <algorithm>

namespace ptx2cpu::analysis {

namespace {

// Lanes that have left a loop did so in turns of their own: what its counters have in common, they share
// within it only.
bool IsCommonAt(const LaneLimits& limits, uint32_t node, const LoopForest& loops, const LaneForms& forms) {
  for (uint32_t n = 0; n < loops.loops.size(); ++n) {
    if (!loops.Contains(n, node) && forms.IsMadeIn(limits.common, {loops.loops[n].header})) return false;
  }
  return true;
}

}  // namespace

std::vector<LaneGuard> FindLaneGuards(const ir::Function& f, const Cfg& cfg, const DominatorTree& dominators,
                                      const LoopForest& loops, const LaneForms& forms, ir::BlockId block) {
  std::vector<LaneGuard> guards;
  for (uint32_t node = block.index; dominators.parent[node] != kNoNode; node = dominators.parent[node]) {
    const ir::BlockId above{dominators.parent[node]};
    const std::vector<uint32_t>& from = cfg.predecessors[node];
    const ir::Inst& end = f.terminator(above);
    if (end.op != ir::Opcode::kCondBr || from.size() != 1 || end.edges[0].to == end.edges[1].to) continue;
    const LanePredicate& holds = forms.PredicateOf(end.operands[0]);
    AllLimits limits = end.edges[0].to.index == node ? holds.when_true : holds.when_false;
    std::erase_if(limits, [&](const LaneLimits& one) { return !IsCommonAt(one, above.index, loops, forms); });
    if (!limits.empty()) guards.push_back({above, node, limits});
  }
  return guards;
}

uint32_t LanesBehind(std::span<const LaneGuard> guards) {
  AllLimits all;
  for (const LaneGuard& guard : guards) all = Together(all, guard.limits);
  return LanesWithin(all);
}

bool ExcludeEachOther(std::span<const LaneGuard> a, uint32_t lane_of_a, std::span<const LaneGuard> b,
                      uint32_t lane_of_b, const std::function<bool(ir::BlockId branch)>& comes_again) {
  return std::ranges::any_of(a, [&](const LaneGuard& one) {
    if (!AreApart(one.limits, lane_of_a, lane_of_b)) return false;
    const bool is_shared = std::ranges::any_of(
        b, [&](const LaneGuard& other) { return other.branch == one.branch && other.taken == one.taken; });
    return is_shared && !comes_again(one.branch);
  });
}

}  // namespace ptx2cpu::analysis
