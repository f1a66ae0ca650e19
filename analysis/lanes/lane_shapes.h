// Which values of a lane region differ between lanes, and how. Internal to this folder.
#pragma once

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

// Fills shapes, Item::together, Level::leaves_together and turns_together.
void FindLaneShapes(const ir::Function& f, const LaneRegionOptions& options, LaneRegion& region);

}  // namespace ptx2cpu::analysis
