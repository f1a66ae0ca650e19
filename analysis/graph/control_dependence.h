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

}  // namespace ptx2cpu::analysis
