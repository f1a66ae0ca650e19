// Control dependence (Ferrante, Ottenstein and Warren 1987): which branches decide whether a block runs.
#pragma once

#include "analysis/graph/dominators.h"

namespace ptx2cpu::analysis {

struct ControlDependence {
  // sources[n]: nodes whose branch decides directly whether n runs (the post-dominance frontier of n). A
  // block at the head of a loop depends on the loop's exit branches, itself included.
  std::vector<std::vector<uint32_t>> sources;
};

ControlDependence ControlDependences(const Cfg& g, const DominatorTree& post_dominators);

// Collects the nodes that depend on some branches. However many branches are added, each node is met once:
// known nodes are skipped by following the post-dominator tree past them (union-find with path compression).
class DependentNodes {
 public:
  // Both must outlive it; of the graph only the successors are read.
  DependentNodes(const Cfg& g, const DominatorTree& post_dominators);

  bool Contains(uint32_t node) const { return next_[node] != node; }
  // Adds the nodes that depend on the branch directly, and returns the new ones.
  std::vector<uint32_t> AddDirect(uint32_t branch);
  // The same, with the nodes that depend on those in turn.
  std::vector<uint32_t> AddAll(uint32_t branch);
  // The node itself, and what depends on it in any number of steps.
  std::vector<uint32_t> AddWithNode(uint32_t node);

 private:
  uint32_t Next(uint32_t node);
  void Mark(uint32_t node, std::vector<uint32_t>& added);
  void Close(std::vector<uint32_t>& added);
  void Extend(uint32_t branch, std::vector<uint32_t>& added);

  const Cfg& g_;
  const DominatorTree& post_;
  std::vector<uint32_t> next_;  // the node itself, or one nearer to the root where it is known
};

// Finds the branches that decide whether a node runs. Each is reported once, for the first node that depends
// on it. All queries together take n log n; the queries between two calls of Forget take log n for each
// branch that they report.
class DecidingBranches {
 public:
  DecidingBranches(const Cfg& g, const DominatorTree& post_dominators);
  // Branches on which the node depends directly and that were not reported before.
  std::vector<uint32_t> Take(uint32_t node);
  void Forget();  // what was reported

 private:
  struct Way {  // an edge of a branch: nodes of the tree from `head` to below `join` depend on the branch
    uint32_t branch, head, join_depth;
  };
  void Update(size_t leaf, uint32_t value);
  void Collect(size_t tree_node, size_t from, size_t to, size_t first, size_t last, uint32_t depth,
               std::vector<uint32_t>& branches);

  const DominatorTree& post_;
  std::vector<uint32_t> depth_;  // in the tree
  std::vector<Way> ways_;        // by the head's place in the tree
  std::vector<uint32_t> least_;  // segment tree over ways_: the least join_depth of those not reported
  size_t leaves_ = 1;
  std::vector<size_t> reported_;  // places in ways_
};

}  // namespace ptx2cpu::analysis
