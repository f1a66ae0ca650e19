#include "analysis/graph/control_dependence.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ptx2cpu::analysis {

ControlDependence ControlDependences(const Cfg& g, const DominatorTree& post_dominators) {
  ControlDependence result;
  result.sources.resize(g.size());
  for (uint32_t branch : g.order) {
    if (g.successors[branch].size() < 2) continue;
    uint32_t join = post_dominators.parent[branch];
    for (uint32_t successor : g.successors[branch]) {
      // Everything from the successor up to where the arms meet again depends on this branch.
      for (uint32_t node = successor; node != join && node != kNoNode; node = post_dominators.parent[node]) {
        auto& list = result.sources[node];
        if (list.empty() || list.back() != branch) list.push_back(branch);
      }
    }
  }
  return result;
}

// -- DependentNodes --

DependentNodes::DependentNodes(const Cfg& g, const DominatorTree& post_dominators)
    : g_(g), post_(post_dominators), next_(g.size()) {
  std::iota(next_.begin(), next_.end(), 0);
}

// The node, or the first above it that is not known; kNoNode beyond the root.
uint32_t DependentNodes::Next(uint32_t node) {
  uint32_t found = node;
  while (found != kNoNode && next_[found] != found) found = next_[found];
  while (node != found) node = std::exchange(next_[node], found);
  return found;
}

void DependentNodes::Mark(uint32_t node, std::vector<uint32_t>& added) {
  next_[node] = post_.parent[node];
  added.push_back(node);
}

void DependentNodes::Extend(uint32_t branch, std::vector<uint32_t>& added) {
  if (g_.successors[branch].size() < 2) return;
  const uint32_t join = post_.parent[branch];
  for (uint32_t successor : g_.successors[branch]) {
    // Everything from the successor up to where the arms meet again.
    for (uint32_t node = Next(successor);
         node != kNoNode && node != join && (join == kNoNode || post_.Dominates(join, node));
         node = Next(node))
      Mark(node, added);
  }
}

void DependentNodes::Close(std::vector<uint32_t>& added) {
  for (size_t i = 0; i < added.size(); ++i) Extend(added[i], added);
}

std::vector<uint32_t> DependentNodes::AddDirect(uint32_t branch) {
  std::vector<uint32_t> added;
  Extend(branch, added);
  return added;
}

std::vector<uint32_t> DependentNodes::AddAll(uint32_t branch) {
  std::vector<uint32_t> added = AddDirect(branch);
  Close(added);
  return added;
}

std::vector<uint32_t> DependentNodes::AddWithNode(uint32_t node) {
  std::vector<uint32_t> added;
  if (Contains(node)) return added;
  Mark(node, added);
  Close(added);
  return added;
}

// -- DecidingBranches --

namespace {
constexpr uint32_t kReported = ~0u;
}

DecidingBranches::DecidingBranches(const Cfg& g, const DominatorTree& post_dominators)
    : post_(post_dominators), depth_(g.size()) {
  std::vector<uint32_t> work{post_.root};
  while (!work.empty()) {
    const uint32_t node = work.back();
    work.pop_back();
    for (uint32_t child : post_.children[node]) {
      depth_[child] = depth_[node] + 1;
      work.push_back(child);
    }
  }
  for (uint32_t branch : g.order) {
    if (g.successors[branch].size() < 2) continue;
    const uint32_t join = post_.parent[branch];
    for (uint32_t head : g.successors[branch])
      ways_.push_back({branch, head, join == kNoNode ? 0 : depth_[join]});
  }
  std::ranges::sort(ways_, {}, [&](const Way& way) { return std::pair(post_.enter[way.head], way.branch); });
  while (leaves_ < ways_.size()) leaves_ *= 2;
  least_.assign(2 * leaves_, kReported);
  for (size_t i = 0; i < ways_.size(); ++i) least_[leaves_ + i] = ways_[i].join_depth;
  for (size_t i = leaves_ - 1; i > 0; --i) least_[i] = std::min(least_[2 * i], least_[2 * i + 1]);
}

void DecidingBranches::Update(size_t leaf, uint32_t value) {
  size_t i = leaves_ + leaf;
  least_[i] = value;
  for (i /= 2; i > 0; i /= 2) least_[i] = std::min(least_[2 * i], least_[2 * i + 1]);
}

// Reports the ways in [first, last) whose join is less deep than the node.
void DecidingBranches::Collect(size_t tree_node, size_t from, size_t to, size_t first, size_t last,
                               uint32_t depth, std::vector<uint32_t>& branches) {
  if (to <= first || last <= from || least_[tree_node] >= depth) return;
  if (to - from == 1) {
    branches.push_back(ways_[from].branch);
    reported_.push_back(from);
    Update(from, kReported);
    return;
  }
  const size_t middle = (from + to) / 2;
  Collect(2 * tree_node, from, middle, first, last, depth, branches);
  Collect(2 * tree_node + 1, middle, to, first, last, depth, branches);
}

void DecidingBranches::Forget() {
  for (const size_t way : reported_) Update(way, ways_[way].join_depth);
  reported_.clear();
}

std::vector<uint32_t> DecidingBranches::Take(uint32_t node) {
  // The ways that begin below the node in the tree, or at it.
  const auto at = [&](uint32_t clock) {
    return static_cast<size_t>(
        std::ranges::lower_bound(ways_, clock, {}, [&](const Way& way) { return post_.enter[way.head]; }) -
        ways_.begin());
  };
  std::vector<uint32_t> branches;
  if (post_.enter[node] == kNoNode) return branches;
  Collect(1, 0, leaves_, at(post_.enter[node]), at(post_.leave[node]), depth_[node], branches);
  std::ranges::sort(branches);
  branches.erase(std::unique(branches.begin(), branches.end()), branches.end());
  return branches;
}

}  // namespace ptx2cpu::analysis
