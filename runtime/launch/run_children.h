// Runs the operations that a grid's threads have requested for its end.
#pragma once

#include <optional>
#include <vector>

#include "runtime/launch/child_queue.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

// Runs the operations one after the other, child grids with all of their own children; the first error ends
// it. `depth`: that of the grid that requested them.
std::optional<LaunchError> RunOperations(std::vector<ChildOperation> operations, const LaunchOptions& options,
                                         uint32_t depth);

}  // namespace ptx2cpu::rt
