// Runs what a grid's threads have left for its end.
#pragma once

#include <optional>
#include <vector>

#include "runtime/launch/child_queue.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

// Each operation after the one before, child grids with all of their own children; the first error ends it.
// `depth`: of the grid that requested it.
std::optional<LaunchError> RunOperations(std::vector<ChildOperation> operations, const LaunchOptions& options,
                                         uint32_t depth);

}  // namespace ptx2cpu::rt
