// Memory of graphs: addresses that nodes share, and the reported amounts.
#include "tests/driver/launched_graph.h"

using namespace driver_stream_test;

namespace {

CUDA_MEM_ALLOC_NODE_PARAMS Bytes(size_t count) {
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  allocation.bytesize = count;
  return allocation;
}

}  // namespace

TEST_CASE("graphs: memory that was freed before is allocated at the same address, once") {
  Program program;
  const CUgraph graph = NewGraph();
  CUDA_MEM_ALLOC_NODE_PARAMS allocation = Bytes(4096);
  CUgraphNode first, first_free, second, third, second_free, larger;
  const auto allocate = [&](CUgraphNode* node, const CUgraphNode* after) {
    REQUIRE_OK(cuGraphAddMemAllocNode(node, graph, after, after != nullptr, &allocation));
    return allocation.dptr;
  };
  const CUdeviceptr address = allocate(&first, nullptr);
  REQUIRE_OK(cuGraphAddMemFreeNode(&first_free, graph, &first, 1, address));
  CHECK(allocate(&second, &first_free) == address);
  CHECK(allocate(&third, &first_free) != address);  // beside the second
  const CUdeviceptr left = allocation.dptr;
  REQUIRE_OK(cuGraphAddMemFreeNode(&second_free, graph, &second, 1, address));
  allocation.bytesize = 8192;
  CHECK(allocate(&larger, &second_free) != address);
  Launched launched(graph);
  launched.Run();
  CHECK(cuGraphLaunch(launched.exec, launched.stream) == CUDA_ERROR_INVALID_VALUE);  // two are left
  REQUIRE_OK(cuMemFree_v2(left));
  REQUIRE_OK(cuMemFree_v2(allocation.dptr));
  CHECK(cuMemFree_v2(address) == CUDA_ERROR_INVALID_VALUE);
  launched.Run();
}

TEST_CASE("graphs: the memory of launches counts as long as something may need it") {
  Program program;
  const auto used = [] {
    cuuint64_t bytes = 0;
    REQUIRE_OK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes));
    return bytes;
  };
  const auto build = [](bool free_it, CUdeviceptr* address) {
    const CUgraph graph = NewGraph();
    CUDA_MEM_ALLOC_NODE_PARAMS allocation = Bytes(1 << 20);
    CUgraphNode alloc, wait, free_node;
    REQUIRE_OK(cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &allocation));
    *address = allocation.dptr;
    REQUIRE_OK(cuGraphAddEmptyNode(&wait, graph, &alloc, 1));
    if (free_it) REQUIRE_OK(cuGraphAddMemFreeNode(&free_node, graph, &wait, 1, allocation.dptr));
    return graph;
  };
  constexpr cuuint64_t kOne = 1 << 20;
  REQUIRE_OK(cuDeviceGraphMemTrim(0));
  const cuuint64_t before = used();
  CUdeviceptr address[3];
  Launched a(build(true, &address[0])), b(build(true, &address[1])), c(build(false, &address[2]));
  CHECK(used() == before);
  Gate gate;
  REQUIRE_OK(gate.Hold(a.stream));
  REQUIRE_OK(cuGraphLaunch(a.exec, a.stream));
  CHECK(used() == before + kOne);
  REQUIRE_OK(cuGraphLaunch(a.exec, a.stream));
  REQUIRE_OK(cuGraphLaunch(b.exec, a.stream));  // after it: takes what it frees
  CHECK(used() == before + kOne);
  REQUIRE_OK(cuDeviceGraphMemTrim(0));
  CHECK(used() == before + kOne);
  REQUIRE_OK(cuGraphLaunch(c.exec, c.stream));  // at the same time
  CHECK(used() == before + 2 * kOne);
  gate.Open();
  REQUIRE_OK(cuCtxSynchronize());
  REQUIRE_OK(cuDeviceGraphMemTrim(0));
  CHECK(used() == before + kOne);  // what is left allocated
  REQUIRE_OK(cuMemFree_v2(address[2]));
  CHECK(used() == before + kOne);
  REQUIRE_OK(cuDeviceGraphMemTrim(0));
  CHECK(used() == before);
}

TEST_CASE("graphs: a launch may free what another graph has left") {
  Program program;
  const CUgraph maker = NewGraph(), breaker = NewGraph();
  CUDA_MEM_ALLOC_NODE_PARAMS allocation = Bytes(4096);
  CUgraphNode alloc, free_node;
  REQUIRE_OK(cuGraphAddMemAllocNode(&alloc, maker, nullptr, 0, &allocation));
  REQUIRE_OK(cuGraphAddMemFreeNode(&free_node, breaker, nullptr, 0, allocation.dptr));
  Launched make(maker), free_it(breaker);
  for (int i = 0; i < 3; ++i) {
    make.Run();
    free_it.Run();
  }
}
