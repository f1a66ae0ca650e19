// The work of a graph launch.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/driver/graph/graph.h"
#include "runtime/cuda/driver/graph/graph_footprint.h"

namespace ptx2cpu::driver {

struct GraphPlan {
  std::shared_ptr<const rt::Steps> steps;
  std::vector<cuda::CUevent> waits;    // a launch has a ticket for each of the steps,
  std::vector<cuda::CUevent> records;  // and a gate for each of these
  std::vector<MemoryStep> memory;
  std::vector<cuda::CUdeviceptr> left;   // allocated and not freed
  std::vector<cuda::CUdeviceptr> taken;  // freed and not allocated
};

// The graph has passed CheckStructure.
GraphPlan MakePlan(const Graph& graph);

// Whether the graph can be instantiated: no cycles, no condition without its node, in bodies of conditional
// nodes only legal nodes. Graphs within are checked too.
cuda::CUgraphInstantiateResult CheckStructure(const Graph& graph);

}  // namespace ptx2cpu::driver
