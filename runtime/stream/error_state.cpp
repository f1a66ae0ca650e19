#include "runtime/stream/error_state.h"

#include <utility>

namespace ptx2cpu::rt {

std::optional<LaunchError> ErrorState::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

bool ErrorState::Fail(LaunchError error) {
  std::lock_guard lock(mutex_);
  if (error_) return false;
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
  return true;
}

}  // namespace ptx2cpu::rt
