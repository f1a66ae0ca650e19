// Default streams, events, callbacks.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

// Host functions that hold a stream until released.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<int> passed{0};
  static void Wait(void* self) {
    auto* gate = static_cast<Gate*>(self);
    while (!gate->open.load()) std::this_thread::yield();
    gate->passed.fetch_add(1);
  }
};

struct Device {
  Device(const Face& of, size_t bytes) : face(of) {
    REQUIRE(face.Call("cudaMalloc", &pointer, bytes) == cudaSuccess);
  }
  ~Device() { face.Call("cudaFree", pointer); }
  const Face& face;
  void* pointer = nullptr;
};

}  // namespace

TEST_CASE("the null stream is the legacy stream, or the thread's own in _ptsz functions", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Gate gate;
    REQUIRE(face.Call("cudaLaunchHostFunc_ptsz", cudaStream_t{}, &Gate::Wait, static_cast<void*>(&gate)) ==
            cudaSuccess);
    // This thread's stream is busy; that of another thread is not.
    REQUIRE(face.Call("cudaStreamQuery_ptsz", cudaStream_t{}) == cudaErrorNotReady);
    REQUIRE(face.Call("cudaStreamQuery", CU_STREAM_PER_THREAD) == cudaErrorNotReady);
    REQUIRE(face.Last() == cudaSuccess);  // "not ready" is no error
    std::thread([&] { CHECK(face.Call("cudaStreamQuery_ptsz", cudaStream_t{}) == cudaSuccess); }).join();
    gate.open = true;
    REQUIRE(face.Call("cudaStreamSynchronize_ptsz", cudaStream_t{}) == cudaSuccess);
    REQUIRE(gate.passed == 1);
    REQUIRE(face.Call("cudaStreamQuery_ptsz", cudaStream_t{}) == cudaSuccess);
  }
}

TEST_CASE("the legacy stream waits for blocking streams and not for others", "[cudart]") {
  const Face& face = Face::Of(13);
  cudaStream_t blocking = nullptr, free_running = nullptr;
  REQUIRE(face.Call("cudaStreamCreate", &blocking) == cudaSuccess);
  REQUIRE(face.Call("cudaStreamCreateWithFlags", &free_running, cudaStreamNonBlocking) == cudaSuccess);
  unsigned flags = 7;
  REQUIRE(face.Call("cudaStreamGetFlags", free_running, &flags) == cudaSuccess);
  REQUIRE(flags == cudaStreamNonBlocking);
  {
    Gate gate;
    REQUIRE(face.Call("cudaLaunchHostFunc", free_running, &Gate::Wait, static_cast<void*>(&gate)) ==
            cudaSuccess);
    REQUIRE(face.Call("cudaStreamSynchronize", cudaStream_t{}) == cudaSuccess);
    REQUIRE(gate.passed == 0);
    gate.open = true;
    REQUIRE(face.Call("cudaStreamSynchronize", free_running) == cudaSuccess);
  }
  {
    Gate gate;
    Device memory(face, 64);
    REQUIRE(face.Call("cudaLaunchHostFunc", blocking, &Gate::Wait, static_cast<void*>(&gate)) == cudaSuccess);
    REQUIRE(face.Call("cudaMemsetAsync", memory.pointer, 1, size_t{64}, cudaStream_t{}) == cudaSuccess);
    REQUIRE(face.Call("cudaStreamQuery", cudaStream_t{}) == cudaErrorNotReady);
    gate.open = true;
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
    REQUIRE(gate.passed == 1);
  }
  REQUIRE(face.Call("cudaStreamDestroy", blocking) == cudaSuccess);
  REQUIRE(face.Call("cudaStreamDestroy", free_running) == cudaSuccess);
}

TEST_CASE("callbacks get stream, status and data, in order", "[cudart]") {
  const Face& face = Face::Of(12);
  cudaStream_t stream = nullptr;
  REQUIRE(face.Call("cudaStreamCreate", &stream) == cudaSuccess);
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
    int order = 0;
    int* count;
  };
  int count = 0;
  std::array<Seen, 3> seen{};
  const cudaStreamCallback_t callback = [](cudaStream_t of, cudaError_t status, void* data) {
    auto* one = static_cast<Seen*>(data);
    *one = {of, status, ++*one->count, one->count};
  };
  for (Seen& one : seen) {
    one.count = &count;
    REQUIRE(face.Call("cudaStreamAddCallback", stream, callback, static_cast<void*>(&one), 0u) ==
            cudaSuccess);
  }
  REQUIRE(face.Call("cudaStreamAddCallback", stream, callback, static_cast<void*>(&seen[0]), 1u) ==
          cudaErrorInvalidValue);
  REQUIRE(face.Last() == cudaErrorInvalidValue);
  REQUIRE(face.Call("cudaStreamSynchronize", stream) == cudaSuccess);
  for (int i = 0; i < 3; ++i) {
    const Seen& one = seen[static_cast<size_t>(i)];
    REQUIRE((one.stream == stream && one.status == cudaSuccess && one.order == i + 1));
  }
  REQUIRE(face.Call("cudaStreamDestroy", stream) == cudaSuccess);
}

TEST_CASE("events order streams and take the time between them", "[cudart]") {
  const Face& face = Face::Of(13);
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  float milliseconds = -1;
  REQUIRE(face.Call("cudaStreamCreateWithFlags", &first, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(face.Call("cudaStreamCreateWithPriority", &second, cudaStreamNonBlocking, 0) == cudaSuccess);
  REQUIRE(face.Call("cudaEventCreate", &begin) == cudaSuccess);
  REQUIRE(face.Call("cudaEventCreate", &end) == cudaSuccess);
  Gate gate, behind;
  behind.open = true;
  REQUIRE(face.Call("cudaLaunchHostFunc", first, &Gate::Wait, static_cast<void*>(&gate)) == cudaSuccess);
  REQUIRE(face.Call("cudaEventRecord", begin, first) == cudaSuccess);
  REQUIRE(face.Call("cudaStreamWaitEvent", second, begin, 0u) == cudaSuccess);
  REQUIRE(face.Call("cudaLaunchHostFunc", second, &Gate::Wait, static_cast<void*>(&behind)) == cudaSuccess);
  REQUIRE(face.Call("cudaEventRecordWithFlags", end, second, 0u) == cudaSuccess);
  REQUIRE(face.Call("cudaEventQuery", end) == cudaErrorNotReady);
  REQUIRE(face.Call("cudaEventElapsedTime", &milliseconds, begin, end) == cudaErrorNotReady);
  REQUIRE(behind.passed == 0);
  gate.open = true;
  REQUIRE(face.Call("cudaEventSynchronize", end) == cudaSuccess);
  REQUIRE(behind.passed == 1);
  REQUIRE(face.Call("cudaEventElapsedTime", &milliseconds, begin, end) == cudaSuccess);
  REQUIRE((milliseconds >= 0 && milliseconds < 10000));
  REQUIRE(face.Last() == cudaSuccess);
  for (const cudaEvent_t event : {begin, end}) REQUIRE(face.Call("cudaEventDestroy", event) == cudaSuccess);
  for (const cudaStream_t stream : {first, second})
    REQUIRE(face.Call("cudaStreamDestroy", stream) == cudaSuccess);
}
