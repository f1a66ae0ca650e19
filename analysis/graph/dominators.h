// Dominator and post-dominator trees (Lengauer and Tarjan 1979, by Boost.Graph).
#pragma once

#include "analysis/graph/cfg.h"

namespace ptx2cpu::analysis {

struct DominatorTree {
  uint32_t root = kNoNode;
  std::vector<uint32_t> parent;  // immediate dominator; kNoNode for the root and unreachable nodes
  std::vector<std::vector<uint32_t>> children;
  std::vector<uint32_t> enter, leave;  // depth-first interval: a dominates b when b's lies within a's

  // Reflexive. Unreachable nodes dominate nothing and are dominated by nothing.
  bool Dominates(uint32_t a, uint32_t b) const {
    return enter[a] != kNoNode && enter[b] != kNoNode && enter[a] <= enter[b] && leave[b] <= leave[a];
  }
};

DominatorTree Dominators(const Cfg& g);      // rooted at the entry
DominatorTree PostDominators(const Cfg& g);  // rooted at the virtual exit

}  // namespace ptx2cpu::analysis
