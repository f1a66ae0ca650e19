// Loops and their nesting, by strongly connected components; irreducible ones (several entries) are
// distinguished.
#pragma once

#include "analysis/graph/cfg.h"

namespace ptx2cpu::analysis {

struct Loop {
  uint32_t header = kNoNode;  // where control enters; of an irreducible loop the first entry
  uint32_t parent = kNoNode;  // index of the enclosing loop
  uint32_t depth = 1;
  bool irreducible = false;                          // control enters at more than one block
  std::vector<uint32_t> blocks;                      // inner loops included, ascending
  std::vector<uint32_t> latches;                     // sources of edges back to the header
  std::vector<std::pair<uint32_t, uint32_t>> exits;  // edges (inside, outside); never to the virtual exit
  bool Contains(uint32_t block) const;
};

struct LoopForest {
  std::vector<Loop> loops;          // outer before inner
  std::vector<uint32_t> innermost;  // per node: index of its innermost loop or kNoNode
};

LoopForest Loops(const Cfg& g);

}  // namespace ptx2cpu::analysis
