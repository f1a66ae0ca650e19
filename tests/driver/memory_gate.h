// Holds a stream up until it is opened, so that tests see what is queued and what has happened.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "memory_context.h"

namespace driver_memory_test {

class Gate {
 public:
  explicit Gate(CUstream stream) { REQUIRE(cuLaunchHostFunc(stream, Wait, this) == CUDA_SUCCESS); }
  ~Gate() { Open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void Open() { open_.store(true); }
  bool opened() const { return open_.load(); }

 private:
  static void Wait(void* self) {
    while (!static_cast<Gate*>(self)->open_.load()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  std::atomic<bool> open_{false};
};

// Opens the gate from another thread after a while: the calling thread can wait meanwhile.
class OpenLater {
 public:
  explicit OpenLater(Gate& gate) : thread_([&gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.Open();
  }) {}
  ~OpenLater() { thread_.join(); }

 private:
  std::thread thread_;
};

struct TestStream {
  explicit TestStream(unsigned flags = CU_STREAM_NON_BLOCKING) { REQUIRE(cuStreamCreate(&handle, flags) == CUDA_SUCCESS); }
  ~TestStream() { cuStreamDestroy_v2(handle); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator CUstream() const { return handle; }
  CUstream handle = nullptr;
};

}  // namespace driver_memory_test
