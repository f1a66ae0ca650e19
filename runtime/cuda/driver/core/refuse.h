// Functions that exist and are not supported report it once, with the error that they return.
#pragma once

#include <atomic>
#include <cstdio>

namespace ptx2cpu::driver {

class Refusal {
 public:
  constexpr Refusal(const char* function, const char* code) : function_(function), code_(code) {}
  void Warn() {
    if (said_.exchange(true, std::memory_order_relaxed)) return;
    std::fprintf(stderr, "ptx2cpu: %s is not supported: returns %s\n", function_, code_);
  }

 private:
  const char* function_;
  const char* code_;
  std::atomic<bool> said_{false};
};

}  // namespace ptx2cpu::driver
