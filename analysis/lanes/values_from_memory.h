// Values that lanes have loaded, each its own, or computed from such: rows of a sparse matrix begin anywhere.
#pragma once

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

// By value. Through parameters too, so that a counter that begins at a loaded number is one. Needs the
// shapes.
std::vector<bool> ValuesFromMemory(const ir::Function& f, const LaneRegion& region);

}  // namespace ptx2cpu::analysis
