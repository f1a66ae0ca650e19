// Branches of a graph run at the same time, and a launch does not wait for unrelated work.
#include <chrono>

#include "tests/driver/stream_program.h"

using namespace driver_stream_test;

namespace {

// meet(p, q): *p = 1, then waits until *q is not 0; gives up after some 2^34 cycles and writes 2 to *p.
constexpr const char* kMeet = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry meet(.param .u64 p, .param .u64 q)
{
  .reg .pred %t<2>;
  .reg .b32 %r<2>;
  .reg .b64 %d<5>;
  ld.param.u64 %d0, [p];
  ld.param.u64 %d1, [q];
  st.volatile.global.u32 [%d0], 1;
  mov.u64 %d2, %clock64;
again:
  ld.volatile.global.u32 %r0, [%d1];
  setp.ne.u32 %t0, %r0, 0;
  @%t0 bra done;
  mov.u64 %d3, %clock64;
  sub.u64 %d4, %d3, %d2;
  setp.lt.u64 %t1, %d4, 17179869184;
  @%t1 bra again;
  st.volatile.global.u32 [%d0], 2;
done:
  ret;
}
)";

struct Branches : Program {
  Branches() {
    CUmodule loaded;
    REQUIRE_OK(cuModuleLoadData(&loaded, kMeet));
    REQUIRE_OK(cuModuleGetFunction(&meet, loaded, "meet"));
    REQUIRE_OK(cuGraphCreate(&graph, 0));
    REQUIRE_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  CUgraphNode AddMeet(uint32_t* mine, const uint32_t* other) {
    void* parameters[] = {&mine, &other};
    const CUDA_KERNEL_NODE_PARAMS kernel = OneThread(meet, parameters);
    CUgraphNode node;
    REQUIRE_OK(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &kernel));
    return node;
  }
  CUgraphExec Instantiate() {
    CUgraphExec exec;
    REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
  }
  CUfunction meet = nullptr;
  CUgraph graph = nullptr;
  CUstream stream = nullptr;
};

bool Await(const std::atomic<bool>& flag) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!flag && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  return flag;
}

struct Flags {
  std::atomic<bool> seen{false}, open{false};
};
// Reports that it has begun, and returns when it may.
void HoldHost(void* data) {
  auto* flags = static_cast<Flags*>(data);
  flags->seen = true;
  Await(flags->open);
}
void OpenHost(void* data) { static_cast<Flags*>(data)->open = true; }
void SeeHost(void* data) { static_cast<Flags*>(data)->seen = true; }

}  // namespace

TEST_CASE("graph branches: two kernels that wait for each other") {
  Branches b;
  uint32_t left = 0, right = 0;
  b.AddMeet(&left, &right);
  b.AddMeet(&right, &left);
  const CUgraphExec exec = b.Instantiate();
  for (int launch = 0; launch < 20; ++launch) {
    left = right = 0;
    REQUIRE_OK(cuGraphLaunch(exec, b.stream));
    REQUIRE_OK(cuStreamSynchronize(b.stream));
    CHECK(left == 1);
    CHECK(right == 1);
  }
}

TEST_CASE("graph branches: a host function beside a kernel, and both before what follows") {
  Branches b;
  uint32_t mine = 0, word = 0;
  const CUgraphNode kernel = b.AddMeet(&mine, &word);
  CUDA_HOST_NODE_PARAMS call{[](void* data) {  // after the kernel's beginning
                               auto* words = static_cast<uint32_t**>(data);
                               while (std::atomic_ref(*words[0]).load() == 0) std::this_thread::yield();
                               std::atomic_ref(*words[1]).store(1);
                             },
                             nullptr};
  uint32_t* words[] = {&mine, &word};
  call.userData = words;
  CUgraphNode host, copy;
  REQUIRE_OK(cuGraphAddHostNode(&host, b.graph, nullptr, 0, &call));
  const CUgraphNode both[] = {kernel, host};
  uint32_t after = 0;
  CUDA_MEMSET_NODE_PARAMS fill{reinterpret_cast<CUdeviceptr>(&after), 0, 5, 4, 1, 1};
  REQUIRE_OK(cuGraphAddMemsetNode(&copy, b.graph, both, 2, &fill, b.context));
  const CUgraphExec exec = b.Instantiate();
  for (int launch = 0; launch < 20; ++launch) {
    mine = word = after = 0;
    REQUIRE_OK(cuGraphLaunch(exec, b.stream));
    REQUIRE_OK(cuStreamSynchronize(b.stream));
    CHECK(mine == 1);
    CHECK(after == 5);
  }
}

TEST_CASE("graph branches: an event that is waited for holds neither the caller nor other branches") {
  Branches b;
  CUevent event;
  REQUIRE_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  Flags held, beside;
  CUgraphNode wait, behind, free_node;
  REQUIRE_OK(cuGraphAddEventWaitNode(&wait, b.graph, nullptr, 0, event));
  CUDA_HOST_NODE_PARAMS see{SeeHost, &held}, see_too{SeeHost, &beside};
  REQUIRE_OK(cuGraphAddHostNode(&behind, b.graph, &wait, 1, &see));
  REQUIRE_OK(cuGraphAddHostNode(&free_node, b.graph, nullptr, 0, &see_too));
  const CUgraphExec exec = b.Instantiate();
  CUstream other;
  REQUIRE_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  for (int launch = 0; launch < 3; ++launch) {
    held.seen = beside.seen = false;
    Gate gate;
    REQUIRE_OK(gate.Hold(other));
    REQUIRE_OK(cuEventRecord(event, other));
    REQUIRE_OK(cuGraphLaunch(exec, b.stream));
    CHECK(Await(beside.seen));
    CHECK_FALSE(held.seen);
    CHECK(cuStreamQuery(b.stream) == CUDA_ERROR_NOT_READY);
    gate.Open();
    REQUIRE_OK(cuStreamSynchronize(b.stream));
    CHECK(held.seen);
    REQUIRE_OK(cuStreamSynchronize(other));
  }
}

TEST_CASE("graph branches: a launch waits for the one before, other streams do not") {
  Branches b;
  Flags held;
  CUgraphNode host, after;
  CUDA_HOST_NODE_PARAMS hold{HoldHost, &held};
  REQUIRE_OK(cuGraphAddHostNode(&host, b.graph, nullptr, 0, &hold));
  const CUgraphExec exec = b.Instantiate();
  CUgraph second_graph;
  REQUIRE_OK(cuGraphCreate(&second_graph, 0));
  uint32_t word = 0;
  CUDA_MEMSET_NODE_PARAMS fill{reinterpret_cast<CUdeviceptr>(&word), 0, 5, 4, 1, 1};
  REQUIRE_OK(cuGraphAddMemsetNode(&after, second_graph, nullptr, 0, &fill, b.context));
  CUgraphExec second;
  REQUIRE_OK(cuGraphInstantiateWithFlags(&second, second_graph, 0));
  CUstream other;
  REQUIRE_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  REQUIRE_OK(cuGraphLaunch(exec, b.stream));
  REQUIRE(Await(held.seen));
  REQUIRE_OK(cuGraphLaunch(second, other));
  REQUIRE_OK(cuStreamSynchronize(other));
  CHECK(word == 5);
  REQUIRE_OK(cuGraphLaunch(exec, other));
  CHECK(cuStreamQuery(other) == CUDA_ERROR_NOT_READY);
  OpenHost(&held);
  REQUIRE_OK(cuCtxSynchronize());
}

TEST_CASE("graph branches: an event in the middle of a graph is done before the graph is") {
  Branches b;
  CUevent event;
  REQUIRE_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  Flags held;
  CUgraphNode record, host;
  CUDA_HOST_NODE_PARAMS hold{HoldHost, &held};
  REQUIRE_OK(cuGraphAddEventRecordNode(&record, b.graph, nullptr, 0, event));
  REQUIRE_OK(cuGraphAddHostNode(&host, b.graph, &record, 1, &hold));
  const CUgraphExec exec = b.Instantiate();
  CUstream other;
  REQUIRE_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  uint32_t word = 0;
  for (uint32_t launch = 1; launch <= 3; ++launch) {
    held.seen = held.open = false;
    REQUIRE_OK(cuGraphLaunch(exec, b.stream));
    REQUIRE_OK(cuStreamWaitEvent(other, event, 0));
    REQUIRE_OK(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(&word), launch, 1, other));
    REQUIRE_OK(cuEventSynchronize(event));
    REQUIRE_OK(cuStreamSynchronize(other));
    CHECK(word == launch);
    CHECK(cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(cuStreamQuery(b.stream) == CUDA_ERROR_NOT_READY);
    OpenHost(&held);
    REQUIRE_OK(cuStreamSynchronize(b.stream));
  }
}
