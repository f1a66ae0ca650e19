// The sticky error of a context: the first fault of any of its streams. Work that comes after it is dropped.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {

class ErrorState {
 public:
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::optional<LaunchError> error() const;
  // The first error stays. True: this was the first.
  bool Fail(LaunchError error);

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<LaunchError> error_;
};

}  // namespace ptx2cpu::rt
