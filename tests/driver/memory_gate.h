// Blocks a stream until it is opened, so that tests can distinguish queued from completed work.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "memory_context.h"

namespace driver_memory_test {

class Gate {
 public:
  explicit Gate(CUstream stream) {
    auto* held =
        new std::shared_ptr<std::atomic<bool>>(open_);  // the function may run on when the gate is gone
    REQUIRE(cuLaunchHostFunc(stream, Wait, held) == CUDA_SUCCESS);
  }
  ~Gate() { Open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void Open() { open_->store(true); }
  bool opened() const { return open_->load(); }

 private:
  static void Wait(void* data) {
    const std::unique_ptr<std::shared_ptr<std::atomic<bool>>> open(
        static_cast<std::shared_ptr<std::atomic<bool>>*>(data));
    while (!(*open)->load()) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  const std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

// Opens the gate from another thread after a while: the calling thread can wait meanwhile.
class OpenLater {
 public:
  explicit OpenLater(Gate& gate)
      : thread_([&gate] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          gate.Open();
        }) {}
  ~OpenLater() { thread_.join(); }

 private:
  std::thread thread_;
};

struct TestStream {
  explicit TestStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    REQUIRE(cuStreamCreate(&handle, flags) == CUDA_SUCCESS);
  }
  ~TestStream() { cuStreamDestroy_v2(handle); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator CUstream() const { return handle; }
  CUstream handle = nullptr;
};

}  // namespace driver_memory_test
