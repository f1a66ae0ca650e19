// The edges that start another iteration of a loop, in any graph.
#pragma once

#include "analysis/regions/regions.h"

namespace ptx2cpu::analysis {

// Edges to a block that is on the path of a depth-first walk.
std::vector<BlockEdge> FindBackEdges(const ir::Function& f);

}  // namespace ptx2cpu::analysis
