// Loops and their nesting; irreducible ones (several entries) are distinguished.
//
// An irreducible loop is a strongly connected component; the loops within it are those of the component
// without the edges to its header (Steensgaard 1993). The header is the entry that a depth-first walk meets
// first, so that a loop is the set of the header's descendants that reach the header (Havlak, "Nesting of
// reducible and irreducible loops", 1997). One walk finds all loops.
#pragma once

#include <span>

#include "analysis/graph/cfg.h"

namespace ptx2cpu::analysis {

struct Loop {
  uint32_t header = kNoNode;  // where control enters; of an irreducible loop the first entry
  uint32_t parent = kNoNode;  // index of the enclosing loop
  uint32_t depth = 1;
  uint32_t last = kNoNode;           // index after that of the last loop within this one
  bool irreducible = false;          // control enters at more than one block
  std::span<const uint32_t> blocks;  // inner loops included; the header is the first
  std::vector<uint32_t> latches;     // sources of edges back to the header, ascending
  // Edges (inside, outside); none leads to the virtual exit. An edge that leaves several loops is listed in
  // the outermost of them only: a nest may have as many exits as it is deep, each of which leaves all of its
  // loops.
  std::vector<std::pair<uint32_t, uint32_t>> exits;
  uint32_t exit_count = 0;                                       // of all edges that leave it
  std::pair<uint32_t, uint32_t> only_exit = {kNoNode, kNoNode};  // the edge, if it is one
  uint32_t least_depth_left = kNoNode;  // depth of the outermost loop that these edges leave
  bool IsLeftWith(const Loop& around) const { return least_depth_left <= around.depth; }
};

struct LoopForest {
  LoopForest() = default;
  LoopForest(LoopForest&&) = default;  // not copied: Loop::blocks are parts of `blocks`
  LoopForest& operator=(LoopForest&&) = default;

  bool Contains(uint32_t loop, uint32_t block) const {
    const uint32_t inner = innermost[block];
    return inner != kNoNode && inner >= loop && inner < loops[loop].last;
  }

  std::vector<Loop> loops;          // each one is followed by those within it
  std::vector<uint32_t> innermost;  // per node: index of its innermost loop or kNoNode
  std::vector<uint32_t> blocks;     // those of each loop next to each other
};

LoopForest Loops(const Cfg& g);

}  // namespace ptx2cpu::analysis
