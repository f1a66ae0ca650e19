// The meeting point of two arms is the immediate post-dominator of their branch. But all ways end where the
// kernel does, and an arm that only ends its lanes must not move the meeting point of the others there:
//
// clang-format off
//   b:    cond_br %p, x, y        Lanes from x and y meet at j, where all that are left must reach its collective.
//   x:    ...                     So an end of the kernel counts as an end of the graph only where both ways lead,
//         cond_br %q, gone, j     like that after j; other ends are left out.
//   gone: ... ret                 The arms of the second branch: gone, and nothing, since j is not its own.
//   y:    ... br j
//   j:    collective ; ... ret
// clang-format on
#include "lowering/passes/divergent_arms.h"

#include <algorithm>
#include <utility>

#include "analysis/graph/dominators.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using Nodes = std::vector<bool>;

class Meeting {
 public:
  Meeting(const ir::Function& f, BlockId branch, const Steps& steps)
      : exit_(static_cast<uint32_t>(f.blocks.size())), branch_(branch.index) {
    to_.resize(exit_ + 1);
    some_end_.resize(exit_ + 1);
    Nodes met(exit_ + 1);
    nodes_.push_back(branch_);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Step step = steps(nodes_[i]);
      some_end_[nodes_[i]] = step.some_end;
      to_[nodes_[i]] = std::move(step.to);
      for (uint32_t to : to_[nodes_[i]]) {
        if (to != exit_ && to != branch_ && !met[to]) nodes_.push_back(to);
        met[to] = true;
      }
    }
  }

  // Where the arms may count as meeting, the best first; exit_: at the end of the warp's turn. Where lanes
  // that take the first edge may end before others continue, that is the best.
  std::vector<uint32_t> Points() const {
    std::vector<uint32_t> heads = to_[branch_];
    if (heads.size() != 2) return {};
    if (heads[0] == heads[1]) return {heads[0]};
    Nodes common = Common(heads);
    bool meet = std::ranges::find(common, true) != common.end();
    if (!meet) {
      std::vector<uint32_t> points = BesideEnding(heads);
      if (!points.empty()) return points;
    }
    uint32_t point = PostDominator(common, false);
    // Loops that lanes leave for the end of the kernel only.
    if (point == analysis::kNoNode) point = PostDominator(common, true);
    return point == analysis::kNoNode ? std::vector<uint32_t>{} : std::vector{point};
  }

 private:
  bool Dies(uint32_t node) const { return node != exit_ && to_[node].empty(); }

  Nodes Reach(uint32_t head) const {
    Nodes reached(exit_);
    std::vector<uint32_t> work;
    auto enter = [&](uint32_t node) {
      if (node == exit_ || node == branch_ || reached[node]) return;
      reached[node] = true;
      work.push_back(node);
    };
    enter(head);
    while (!work.empty()) {
      uint32_t node = work.back();
      work.pop_back();
      for (uint32_t to : to_[node]) enter(to);
    }
    return reached;
  }

  // What all ways from the heads can reach. Where it is entered at several places, that holds for these in
  // turn.
  Nodes Common(std::vector<uint32_t> heads) const {
    Nodes common(exit_, true);
    for (bool changed = true; changed;) {
      Nodes before = common;
      for (uint32_t head : heads) {
        Nodes reached = Reach(head);
        for (uint32_t node = 0; node < exit_; ++node) common[node] = common[node] && reached[node];
      }
      changed = common != before;
      Nodes entries(exit_);
      for (uint32_t head : heads) {
        if (head != exit_ && head != branch_ && common[head]) entries[head] = true;
      }
      for (uint32_t node : nodes_) {
        for (uint32_t to : to_[node]) {
          if (to != exit_ && to != branch_ && common[to] && !common[node]) entries[to] = true;
        }
      }
      heads.clear();
      for (uint32_t node = 0; node < exit_; ++node) {
        if (entries[node]) heads.push_back(node);
      }
      if (heads.empty()) return common;
    }
    return common;
  }

  // For ways that nothing joins: when all lanes end on one of them, the others may wait at the head of the
  // other. That is not an early exit but the end of a loop, where the other way can only return.
  std::vector<uint32_t> BesideEnding(const std::vector<uint32_t>& heads) const {
    struct Way {
      bool dies = false, stays = false, returns = false;
    } ways[2];
    for (size_t i : {0, 1}) {
      ways[i].stays = heads[i] == exit_;
      ways[i].returns = heads[i] == branch_;
      Nodes reached = Reach(heads[i]);
      for (uint32_t node : nodes_) {
        if (node == branch_ || !reached[node]) continue;
        ways[i].dies |= Dies(node) || some_end_[node];
        ways[i].stays |= std::ranges::find(to_[node], exit_) != to_[node].end();
        ways[i].returns |= std::ranges::find(to_[node], branch_) != to_[node].end();
      }
    }
    std::vector<uint32_t> points;
    for (size_t i : {1, 0}) {
      const Way &on = ways[i], &ends = ways[1 - i];
      if (!ends.stays && !ends.returns && (on.dies || on.stays)) points.push_back(heads[i]);
    }
    return points;
  }

  // On the ways that end in the end of the turn, in the branch, or in the end of lanes among `ends`.
  uint32_t PostDominator(const Nodes& ends, bool some) const {
    analysis::Cfg g;
    g.entry = branch_;
    g.exit = exit_;
    g.successors.resize(exit_ + 1);
    g.predecessors.resize(exit_ + 1);
    bool leaves = false;
    auto connect = [&](uint32_t from, uint32_t to) {
      g.successors[from].push_back(to);
      g.predecessors[to].push_back(from);
    };
    for (uint32_t node : nodes_) {
      for (uint32_t to : to_[node]) {
        connect(node, to == branch_ ? exit_ : to);
        leaves |= to == branch_ || to == exit_;
      }
      if (ends[node] && (Dies(node) || (some && some_end_[node]))) connect(node, exit_);
    }
    Nodes met(exit_ + 1);
    g.order = {exit_};
    met[exit_] = true;
    for (size_t i = 0; i < g.order.size(); ++i) {
      for (uint32_t from : g.predecessors[g.order[i]]) {
        if (!met[from]) g.order.push_back(from);
        met[from] = true;
      }
    }
    if (!met[branch_]) return analysis::kNoNode;
    for (uint32_t node : g.order) std::erase_if(g.successors[node], [&](uint32_t to) { return !met[to]; });
    uint32_t point = analysis::PostDominators(g).parent[branch_];
    return point == exit_ && !leaves ? analysis::kNoNode : point;
  }

  uint32_t exit_, branch_;
  std::vector<uint32_t> nodes_;
  std::vector<std::vector<uint32_t>> to_;
  Nodes some_end_;
};

}  // namespace

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

std::optional<DivergentArms> FindArms(const ir::Function& f, BlockId branch, const Steps& steps,
                                      const Skips& skips) {
  std::vector<BlockId> order = ir::ReversePostOrder(f);
  std::vector<uint32_t> points = Meeting(f, branch, steps).Points();
  for (uint32_t join : points) {
    DivergentArms arms{join, Between(f, branch, join, skips), points.size() == 2};
    Nodes inside(f.blocks.size());
    for (BlockId block : arms.blocks) inside[block.index] = true;
    if (inside[branch.index]) continue;
    bool entered = std::ranges::any_of(order, [&](BlockId from) {
      return from != branch && !inside[from.index] &&
             std::ranges::any_of(f.successors(from),
                                 [&](const ir::Edge& edge) { return inside[edge.to.index]; });
    });
    if (!entered) return arms;
  }
  return {};
}

namespace {

// The immediate post-dominators of all blocks, where every place at which lanes may end counts as an end.
std::vector<uint32_t> PostDominatorsOf(const ir::Function& f, const Steps& steps) {
  analysis::Cfg g;
  g.entry = f.entry.index;
  g.exit = static_cast<uint32_t>(f.blocks.size());
  g.successors.resize(g.exit + 1);
  g.predecessors.resize(g.exit + 1);
  for (BlockId block : ir::ReversePostOrder(f)) {
    Step step = steps(block.index);
    if (step.to.empty() || step.some_end) step.to.push_back(g.exit);
    for (uint32_t to : step.to) g.predecessors[to].push_back(block.index);
    g.successors[block.index] = std::move(step.to);
  }
  Nodes met(g.exit + 1);
  g.order = {g.exit};
  met[g.exit] = true;
  for (size_t i = 0; i < g.order.size(); ++i) {
    for (uint32_t from : g.predecessors[g.order[i]]) {
      if (!met[from]) g.order.push_back(from);
      met[from] = true;
    }
  }
  for (uint32_t node : g.order) std::erase_if(g.successors[node], [&](uint32_t to) { return !met[to]; });
  return analysis::PostDominators(g).parent;
}

}  // namespace

ClosedArms::ClosedArms(const ir::Function& f, const Steps& steps, const Skips& skips)
    : join_(f.blocks.size(), kOpen) {
  const std::vector<uint32_t> meeting = PostDominatorsOf(f, steps);
  const std::vector<std::vector<BlockId>> predecessors = ir::Predecessors(f);
  std::vector<uint32_t> inside(f.blocks.size(), kOpen);  // the last branch in whose arms it was
  for (BlockId branch : ir::ReversePostOrder(f)) {
    const uint32_t join = meeting[branch.index];
    if (f.successors(branch).size() != 2 || join >= f.blocks.size() || join == branch.index) continue;
    std::vector<BlockId> blocks{branch};
    bool closed = true;
    for (size_t i = 0; i < blocks.size() && closed; ++i) {
      const std::span<const ir::Edge> edges = f.successors(blocks[i]);
      for (uint32_t e = 0; e < edges.size(); ++e) {
        const BlockId to = edges[e].to;
        if (to.index == join || skips(blocks[i], e)) continue;
        closed = closed && to != branch;
        if (std::exchange(inside[to.index], branch.index) != branch.index) blocks.push_back(to);
      }
    }
    for (size_t i = 1; i < blocks.size() && closed; ++i) {
      for (BlockId from : predecessors[blocks[i].index])
        closed = closed && (from == branch || inside[from.index] == branch.index);
    }
    if (closed) join_[branch.index] = join;
  }
}

std::optional<uint32_t> ClosedArms::JoinOf(BlockId branch) const {
  if (branch.index >= join_.size() || join_[branch.index] == kOpen) return {};
  return join_[branch.index];
}

std::optional<DivergentArms> ClosedArms::Find(const ir::Function& f, BlockId branch, const Steps& steps,
                                              const Skips& skips) const {
  if (const auto join = JoinOf(branch)) return DivergentArms{*join, Between(f, branch, *join, skips)};
  return FindArms(f, branch, steps, skips);
}

}  // namespace ptx2cpu::lowering
