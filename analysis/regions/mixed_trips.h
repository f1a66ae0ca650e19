// Regions from which lanes reach one boundary in different iterations of a loop around it.
#pragma once

#include <functional>
#include <vector>

#include "analysis/regions/regions.h"

namespace ptx2cpu::analysis {

// On the graph before regions are formed (forming them may copy the ways that matter here). From where lanes
// continue after a boundary, a branch that they may take differently (`differs` of a block's terminator)
// has ways to one boundary that cross a back edge around it and ways that do not: a jump into the middle of a
// loop, or a trip that leaves the boundary out. The lanes then meet in one execution of a collective that
// are, for the program, at different ones; harmless unless their membermasks differ. By block: whether this
// is so for lanes that continue after it (a boundary) or begin there (the entry).
std::vector<bool> FindMixedTrips(const ir::Function& f, const std::function<bool(ir::BlockId)>& is_boundary,
                                 const std::function<bool(ir::BlockId)>& differs);

}  // namespace ptx2cpu::analysis
