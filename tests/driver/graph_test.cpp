#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/cuda/driver/graph/graph_plan.h"
#include "runtime/engine/background.h"
#include "tests/driver/launched_graph.h"

using namespace driver_stream_test;

TEST_CASE("graphs: nodes, edges, roots, changes to them") {
  Program program;
  Log log(program);
  const CUgraph graph = NewGraph();
  CUgraphNode a, b, c, d;
  REQUIRE_OK(log.AddNode(&a, graph, {}, 1));
  REQUIRE_OK(log.AddNode(&b, graph, {a}, 2));
  REQUIRE_OK(log.AddNode(&c, graph, {a}, 3));
  REQUIRE_OK(cuGraphAddEmptyNode(&d, graph, nullptr, 0));
  const CUgraphNode from[] = {b, c}, to[] = {d, d};
  REQUIRE_OK(cuGraphAddDependencies(graph, from, to, 2));
  CHECK(cuGraphAddDependencies(graph, from, to, 1) == CUDA_ERROR_INVALID_VALUE);  // is there already
  CHECK(cuGraphAddDependencies(graph, &a, &a, 1) == CUDA_ERROR_INVALID_VALUE);
  size_t count = 0;
  REQUIRE_OK(cuGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 4);
  CUgraphNode roots[3] = {};
  count = 3;
  REQUIRE_OK(cuGraphGetRootNodes(graph, roots, &count));
  CHECK(count == 1);
  CHECK(roots[0] == a);
  CHECK(roots[1] == nullptr);
  CUgraphNode edge_from[8], edge_to[8];
  count = 8;
  REQUIRE_OK(cuGraphGetEdges(graph, edge_from, edge_to, &count));
  REQUIRE(count == 4);
  std::set<std::pair<CUgraphNode, CUgraphNode>> edges;
  for (size_t i = 0; i < count; ++i) edges.insert({edge_from[i], edge_to[i]});
  CHECK(edges == std::set<std::pair<CUgraphNode, CUgraphNode>>{{a, b}, {a, c}, {b, d}, {c, d}});
  CUgraphNode dependents[4];
  count = 4;
  REQUIRE_OK(cuGraphNodeGetDependentNodes(a, dependents, &count));
  CHECK(count == 2);
  REQUIRE_OK(cuGraphRemoveDependencies(graph, from, to, 1));
  CHECK(cuGraphRemoveDependencies(graph, from, to, 1) == CUDA_ERROR_INVALID_VALUE);
  count = 4;
  REQUIRE_OK(cuGraphNodeGetDependencies(d, dependents, &count));
  CHECK(count == 1);
  CHECK(dependents[0] == c);
  REQUIRE_OK(cuGraphDestroyNode(b));
  CHECK(cuGraphDestroyNode(b) == CUDA_ERROR_INVALID_VALUE);
  Launched(graph).Run();
  CHECK(log.Take() == Values{1, 3});
  CUgraphEdgeData programmatic{};
  programmatic.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  programmatic.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  CUgraphNode e;
  REQUIRE_OK(log.AddNode(&e, graph, {}, 5));
  REQUIRE_OK(cuGraphAddDependencies_v2(graph, &c, &e, &programmatic, 1));
  count = 8;
  CHECK(cuGraphGetEdges(graph, edge_from, edge_to, &count) == CUDA_ERROR_LOSSY_QUERY);
  REQUIRE_OK(cuGraphDestroy(graph));
  CHECK(cuGraphDestroy(graph) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphNodeGetType(a, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("graphs: a cycle is not instantiated") {
  Program program;
  const CUgraph graph = NewGraph();
  CUgraphNode a, b;
  REQUIRE_OK(cuGraphAddEmptyNode(&a, graph, nullptr, 0));
  REQUIRE_OK(cuGraphAddEmptyNode(&b, graph, &a, 1));
  REQUIRE_OK(cuGraphAddDependencies(graph, &b, &a, 1));
  CUgraphExec exec;
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  CHECK(cuGraphInstantiateWithParams(&exec, graph, &params) == CUDA_ERROR_INVALID_VALUE);
  CHECK(params.result_out == CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
}

TEST_CASE("graphs: copies, sets, host functions, kernels and a child in one") {
  Program program;
  Log log(program);
  const CUgraph graph = NewGraph(), child = NewGraph();
  uint32_t source = 10, target = 0;
  CUgraphNode set, kernel, copy, host, inner, child_node;
  CUDA_MEMSET_NODE_PARAMS fill{reinterpret_cast<CUdeviceptr>(&source), 0, 21, 4, 1, 1};
  REQUIRE_OK(cuGraphAddMemsetNode(&set, graph, nullptr, 0, &fill, program.context));
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(&source);
  void* parameters[] = {&address};
  CUDA_KERNEL_NODE_PARAMS launch = OneThread(program.append, parameters);
  launch.func = program.double_it;
  REQUIRE_OK(cuGraphAddKernelNode_v2(&kernel, graph, &set, 1, &launch));
  CUDA_MEMCPY3D transfer{};
  transfer.srcMemoryType = CU_MEMORYTYPE_HOST;
  transfer.srcHost = &source;
  transfer.dstMemoryType = CU_MEMORYTYPE_HOST;
  transfer.dstHost = &target;
  transfer.WidthInBytes = 4;
  transfer.Height = transfer.Depth = 1;
  REQUIRE_OK(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &transfer, program.context));
  CUDA_HOST_NODE_PARAMS call{[](void* data) { *static_cast<uint32_t*>(data) += 1; }, &target};
  REQUIRE_OK(cuGraphAddHostNode(&host, graph, &copy, 1, &call));
  REQUIRE_OK(log.AddNode(&inner, child, {}, 99));
  REQUIRE_OK(cuGraphAddChildGraphNode(&child_node, graph, &host, 1, child));
  CUgraph embedded;
  REQUIRE_OK(cuGraphChildGraphNodeGetGraph(child_node, &embedded));
  CHECK(embedded != child);
  CHECK(cuGraphDestroy(embedded) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE_OK(cuGraphDestroy(child));
  Launched launched(graph);
  launched.Run();
  CHECK(source == 42);
  CHECK(target == 43);
  CHECK(log.Take() == Values{99});
  CUDA_MEMSET_NODE_PARAMS told{};
  REQUIRE_OK(cuGraphMemsetNodeGetParams(set, &told));
  CHECK(told.value == 21);
  CUDA_KERNEL_NODE_PARAMS kernel_told{};
  REQUIRE_OK(cuGraphKernelNodeGetParams_v2(kernel, &kernel_told));
  CHECK(kernel_told.func == program.double_it);
  CHECK(*static_cast<CUdeviceptr*>(kernel_told.kernelParams[0]) == address);
  CHECK(cuGraphKernelNodeGetParams_v2(set, &kernel_told) == CUDA_ERROR_INVALID_VALUE);
  // The graph changes, the executable graph does not.
  told.value = 1;
  REQUIRE_OK(cuGraphMemsetNodeSetParams(set, &told));
  launched.Run();
  CHECK(target == 43);
  // The executable graph changes.
  REQUIRE_OK(cuGraphExecMemsetNodeSetParams(launched.exec, set, &told, program.context));
  launched.Run();
  CHECK(target == 3);
  REQUIRE_OK(cuGraphNodeSetEnabled(launched.exec, kernel, 0));
  unsigned enabled = 7;
  REQUIRE_OK(cuGraphNodeGetEnabled(launched.exec, kernel, &enabled));
  CHECK(enabled == 0);
  launched.Run();
  CHECK(target == 2);
  CHECK(cuGraphNodeSetEnabled(launched.exec, host, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphExecHostNodeSetParams(launched.exec, kernel, &call) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("graphs: clones know what they are copies of") {
  Program program;
  Log log(program);
  const CUgraph graph = NewGraph();
  CUgraphNode a, b, found;
  REQUIRE_OK(log.AddNode(&a, graph, {}, 1));
  REQUIRE_OK(log.AddNode(&b, graph, {a}, 2));
  CUgraph clone;
  REQUIRE_OK(cuGraphClone(&clone, graph));
  REQUIRE_OK(cuGraphNodeFindInClone(&found, b, clone));
  CHECK(found != b);
  CHECK(cuGraphNodeFindInClone(&found, b, graph) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE_OK(cuGraphDestroy(graph));
  Launched(clone).Run();
  CHECK(log.Take() == Values{1, 2});
}

TEST_CASE("graphs: an executable graph takes the parameters of another graph of the same shape") {
  Program program;
  Log log(program);
  const auto build = [&](uint32_t base, bool third) {
    const CUgraph graph = NewGraph();
    CUgraphNode a, b, c;
    REQUIRE_OK(log.AddNode(&a, graph, {}, base));
    REQUIRE_OK(log.AddNode(&b, graph, {a}, base + 1));
    if (third) REQUIRE_OK(log.AddNode(&c, graph, {b}, base + 2));
    return graph;
  };
  const CUgraph first = build(10, false);
  Launched launched(first);
  launched.Run();
  CHECK(log.Take() == Values{10, 11});
  CUgraphExecUpdateResultInfo info;
  REQUIRE_OK(cuGraphExecUpdate_v2(launched.exec, build(20, false), &info));
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  launched.Run();
  CHECK(log.Take() == Values{20, 21});
  CHECK(cuGraphExecUpdate_v2(launched.exec, build(30, true), &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  const CUgraph other = NewGraph();
  CUgraphNode a, b;
  REQUIRE_OK(log.AddNode(&a, other, {}, 1));
  REQUIRE_OK(cuGraphAddEmptyNode(&b, other, &a, 1));
  CUgraphNode error_node;
  CUgraphExecUpdateResult result;
  CHECK(cuGraphExecUpdate(launched.exec, other, &error_node, &result) ==
        CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  CHECK(error_node == b);
  launched.Run();
  CHECK(log.Take() == Values{20, 21});
  // One node.
  std::vector<CUgraphNode> nodes(2);
  size_t count = 2;
  REQUIRE_OK(cuGraphGetNodes(first, nodes.data(), &count));
  CUdeviceptr address = log.address();
  uint32_t value = 77;
  void* parameters[] = {&address, &value};
  const CUDA_KERNEL_NODE_PARAMS params = OneThread(program.append, parameters);
  REQUIRE_OK(cuGraphExecKernelNodeSetParams_v2(launched.exec, nodes[1], &params));
  launched.Run();
  CHECK(log.Take() == Values{20, 77});
}

TEST_CASE("graphs: launches of one executable graph run one after the other, on whatever streams") {
  Program program;
  const CUgraph graph = NewGraph();
  // Not atomic: two launches at once would lose additions.
  uint64_t cell = 0;
  CUgraphNode node;
  const auto add = [](void* data) {
    volatile uint64_t& sum = *static_cast<uint64_t*>(data);
    sum = sum + 1;
  };
  CUDA_HOST_NODE_PARAMS call{add, &cell};
  REQUIRE_OK(cuGraphAddHostNode(&node, graph, nullptr, 0, &call));
  CUgraphExec exec;
  REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUstream streams[4];
  for (CUstream& stream : streams) REQUIRE_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 200; ++i) REQUIRE_OK(cuGraphLaunch(exec, streams[i % 4]));
  REQUIRE_OK(cuGraphExecDestroy(exec));
  REQUIRE_OK(cuCtxSynchronize());
  CHECK(cell == 200);
}

TEST_CASE("graphs: a kernel runs the best code that exists when its graph is launched") {
  Program program;
  Log log(program);
  // Code for any shape comes with the third one; launches of that shape soon have code of their own.
  for (const unsigned threads : {1u, 2u}) {
    CUdeviceptr address = log.address();
    uint32_t value = threads;
    void* parameters[] = {&address, &value};
    REQUIRE_OK(cuLaunchKernel(program.append, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr));
  }
  REQUIRE_OK(cuCtxSynchronize());  // streams that do not block do not wait for it
  const CUgraph graph = NewGraph();
  CUdeviceptr address = log.address();
  uint32_t value = 3;
  void* parameters[] = {&address, &value};
  CUDA_KERNEL_NODE_PARAMS params = OneThread(program.append, parameters);
  params.blockDimX = 3;
  CUgraphNode node;
  REQUIRE_OK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params));
  const GraphPlan plan = MakePlan(*From<Graph>(graph));
  const auto found = std::ranges::find_if(
      *plan.steps, [](const auto& work) { return std::holds_alternative<ptx2cpu::rt::KernelWork>(work); });
  REQUIRE(found != plan.steps->end());
  const auto& work = std::get<ptx2cpu::rt::KernelWork>(*found);
  REQUIRE(work.latest != nullptr);
  constexpr int kLaunches = 8;
  Launched launched(graph);
  for (int launch = 0; launch < kLaunches; ++launch) launched.Run();
  ptx2cpu::rt::WaitForBackground();
  CHECK(work.latest(work).kernel != work.kernel);
  launched.Run();
  Values expected{1, 2, 2};
  expected.insert(expected.end(), 3 * (kLaunches + 1), 3);
  CHECK(log.Take() == expected);
  CHECK_OK(cuGraphDestroy(graph));
}

TEST_CASE("graphs: events in nodes, words of memory in nodes") {
  Program program;
  Log log(program);
  const CUgraph graph = NewGraph();
  CUevent begin, end;
  REQUIRE_OK(cuEventCreate(&begin, 0));
  REQUIRE_OK(cuEventCreate(&end, 0));
  CUgraphNode a, b, c, d;
  uint32_t word = 0;
  REQUIRE_OK(cuGraphAddEventRecordNode(&a, graph, nullptr, 0, begin));
  CUstreamBatchMemOpParams write{};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = reinterpret_cast<CUdeviceptr>(&word);
  write.writeValue.value = 5;
  CUDA_BATCH_MEM_OP_NODE_PARAMS batch{program.context, 1, &write, 0};
  REQUIRE_OK(cuGraphAddBatchMemOpNode(&b, graph, &a, 1, &batch));
  CUDA_HOST_NODE_PARAMS nap{[](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); },
                            nullptr};
  REQUIRE_OK(cuGraphAddHostNode(&c, graph, &b, 1, &nap));
  REQUIRE_OK(cuGraphAddEventRecordNode(&d, graph, &c, 1, end));
  Launched launched(graph);
  launched.Run();
  CHECK(word == 5);
  float milliseconds = 0;
  REQUIRE_OK(cuEventElapsedTime(&milliseconds, begin, end));
  CHECK(milliseconds >= 2.9f);
  CUevent told = nullptr;
  REQUIRE_OK(cuGraphEventRecordNodeGetEvent(d, &told));
  CHECK(told == end);
}

TEST_CASE("graphs: memory that a graph allocates") {
  Program program;
  const CUgraph graph = NewGraph();
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  allocation.bytesize = 4096;
  CUgraphNode alloc, set, kernel, copy, free_node;
  REQUIRE_OK(cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &allocation));
  REQUIRE(allocation.dptr != 0);
  CUDA_MEMSET_NODE_PARAMS fill{allocation.dptr, 0, 8, 4, 16, 1};
  REQUIRE_OK(cuGraphAddMemsetNode(&set, graph, &alloc, 1, &fill, program.context));
  CUdeviceptr address = allocation.dptr;
  void* parameters[] = {&address};
  CUDA_KERNEL_NODE_PARAMS launch = OneThread(program.append, parameters);
  launch.func = program.double_it;
  REQUIRE_OK(cuGraphAddKernelNode_v2(&kernel, graph, &set, 1, &launch));
  uint32_t result = 0;
  CUDA_MEMCPY3D transfer{};
  transfer.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  transfer.srcDevice = allocation.dptr;
  transfer.dstMemoryType = CU_MEMORYTYPE_HOST;
  transfer.dstHost = &result;
  transfer.WidthInBytes = 4;
  transfer.Height = transfer.Depth = 1;
  REQUIRE_OK(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &transfer, program.context));
  REQUIRE_OK(cuGraphAddMemFreeNode(&free_node, graph, &copy, 1, allocation.dptr));
  Launched launched(graph);
  for (int i = 0; i < 3; ++i) {
    result = 0;
    launched.Run();
    CHECK(result == 16);
  }
  CUgraph clone;
  CHECK(cuGraphClone(&clone, graph) == CUDA_ERROR_NOT_SUPPORTED);
  REQUIRE_OK(cuGraphDestroy(graph));
}

TEST_CASE("graphs: user objects live as long as somebody refers to them") {
  Program program;
  int destroyed = 0;
  CUuserObject object;
  REQUIRE_OK(cuUserObjectCreate(
      &object, &destroyed, [](void* data) { ++*static_cast<int*>(data); }, 2,
      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  const CUgraph graph = NewGraph();
  REQUIRE_OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  CUgraphExec exec;
  REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  REQUIRE_OK(cuUserObjectRelease(object, 1));
  CHECK(cuUserObjectRelease(object, 1) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE_OK(cuGraphReleaseUserObject(graph, object, 1));
  CHECK(destroyed == 0);
  REQUIRE_OK(cuGraphExecDestroy(exec));
  CHECK(destroyed == 1);
}

TEST_CASE("graphs: as text for Graphviz") {
  Program program;
  Log log(program);
  const CUgraph graph = NewGraph();
  CUgraphNode a, b;
  REQUIRE_OK(log.AddNode(&a, graph, {}, 1));
  REQUIRE_OK(cuGraphAddEmptyNode(&b, graph, &a, 1));
  char path[] = "/tmp/ptx2cpu_graph_XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  close(file);
  REQUIRE_OK(cuGraphDebugDotPrint(graph, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path);
  CHECK(text.str().find("digraph") != std::string::npos);
  CHECK(text.str().find("append") != std::string::npos);
  CHECK(text.str().find("->") != std::string::npos);
}
