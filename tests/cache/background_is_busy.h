// Keeps all background threads busy, so that a test decides which thread compiles.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/engine/background.h"

namespace ptx2cpu::cache_test {

class BackgroundIsBusy {
 public:
  BackgroundIsBusy() {
    for (unsigned i = 0; i < rt::MaxBackgroundThreads(); ++i) {
      REQUIRE(rt::RunInBackground([this](const std::atomic<bool>& stop) {
        while (!over_ && !stop) std::this_thread::yield();
      }));
    }
  }
  ~BackgroundIsBusy() { End(); }
  BackgroundIsBusy(const BackgroundIsBusy&) = delete;
  BackgroundIsBusy& operator=(const BackgroundIsBusy&) = delete;
  // And until the work is through that came meanwhile.
  void End() {
    over_ = true;
    rt::WaitForBackground();
  }

 private:
  std::atomic<bool> over_ = false;
};

}  // namespace ptx2cpu::cache_test
