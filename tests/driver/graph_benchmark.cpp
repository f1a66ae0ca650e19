// test_driver "[.graph-benchmark]" prints how many microseconds launches of graphs of empty kernels take.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/driver/launched_graph.h"

using namespace driver_stream_test;

TEST_CASE("benchmark of graph launches", "[.graph-benchmark]") {
  Program program;
  const CUgraph graph = NewGraph();
  const CUDA_KERNEL_NODE_PARAMS launch = OneThread(program.empty, nullptr);
  CUgraphNode last = nullptr;
  for (int i = 0; i < 100; ++i) {
    CUgraphNode node;
    REQUIRE_OK(cuGraphAddKernelNode_v2(&node, graph, &last, last == nullptr ? 0 : 1, &launch));
    last = node;
  }
  Launched launched(graph);
  launched.Run();
  using Clock = std::chrono::steady_clock;
  std::vector<double> both, call;
  for (int i = 0; i < 2000; ++i) {
    const auto start = Clock::now();
    REQUIRE(cuGraphLaunch(launched.exec, launched.stream) == CUDA_SUCCESS);
    call.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    REQUIRE(cuStreamSynchronize(launched.stream) == CUDA_SUCCESS);
    both.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::nth_element(both, both.begin() + 1000);
  std::ranges::nth_element(call, call.begin() + 1000);
  std::printf("graph of 100 empty kernels: the call %.2f us, with synchronise %.2f us, %.3f us per node\n",
              call[1000], both[1000], both[1000] / 100);
  std::vector<double> direct;
  for (int i = 0; i < 2000; ++i) {
    const auto start = Clock::now();
    for (int k = 0; k < 100; ++k)
      cuLaunchKernel(program.empty, 1, 1, 1, 1, 1, 1, 0, launched.stream, nullptr, nullptr);
    cuStreamSynchronize(launched.stream);
    direct.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::nth_element(direct, direct.begin() + 1000);
  std::printf("100 launches of an empty kernel and synchronise: %.2f us, %.3f us each\n", direct[1000],
              direct[1000] / 100);
}

TEST_CASE("benchmark of graphs with branches", "[.graph-benchmark]") {
  Program program;
  const CUgraph graph = NewGraph();
  const CUDA_KERNEL_NODE_PARAMS kernel = OneThread(program.empty, nullptr);
  std::vector<CUgraphNode> joined;
  for (int stage = 0; stage < 20; ++stage) {
    std::vector<CUgraphNode> branches(4);
    for (CUgraphNode& node : branches)
      REQUIRE_OK(cuGraphAddKernelNode_v2(&node, graph, joined.data(), joined.size(), &kernel));
    CUgraphNode join;
    REQUIRE_OK(cuGraphAddKernelNode_v2(&join, graph, branches.data(), branches.size(), &kernel));
    joined = {join};
  }
  const Launched launched(graph);
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    cuGraphLaunch(launched.exec, launched.stream);
    cuStreamSynchronize(launched.stream);
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + 500);
  std::printf("graph of 100 empty kernels, 20 forks of 4 branches: %.2f us\n", times[500]);
}
