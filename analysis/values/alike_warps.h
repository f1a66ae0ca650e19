// Values that are the same in every warp of a block: lane by lane, each warp computes what the other warps
// compute.
#pragma once

#include <vector>

#include "analysis/graph/cfg.h"
#include "analysis/values/thread_shape.h"

namespace ptx2cpu::analysis {

// By value. What is computed from the lane's number, from values that the whole block shares and from settled
// loads is the same in a lane of each warp that executes it, and so is what the lanes of a warp then
// exchange: each warp adds up for itself what the warps have left in shared memory.
//
//   %lane = and %tid.x, 31 ; %x = load shared parts[%lane] ; %y, .. = shuffle bfly %x, 16, 31, full
//
// Of kernels whose blocks have only full warps; in others, no value is.
std::vector<bool> FindAlikeWarps(const ir::Function& f, const LaunchShape& launch, const Cfg& g,
                                 const std::vector<bool>& settled_loads);

}  // namespace ptx2cpu::analysis
