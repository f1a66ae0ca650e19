// Values that each lane has loaded for itself, or computed from such values, as the bounds of the rows of a
// sparse matrix.
#pragma once

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

// By value. Through parameters too, so that a counter that begins at a loaded number is one. Needs the
// shapes.
std::vector<bool> ValuesFromMemory(const ir::Function& f, const LaneRegion& region);

}  // namespace ptx2cpu::analysis
