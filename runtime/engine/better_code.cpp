#include "runtime/engine/better_code.h"

#include <unistd.h>

#include <chrono>

namespace ptx2cpu::rt {

namespace {

constexpr auto kMaxWait = std::chrono::seconds(30);
const std::atomic<bool> kNeverStop = false;

}  // namespace

void BetterCode::Run(const std::atomic<bool>& stop) {
  pid_t none = 0;
  if (!compiler_.compare_exchange_strong(none, getpid())) return;
  compile_(stop);
  compile_ = nullptr;
  End();
}

void BetterCode::Obtain() {
  Run(kNeverStop);
  if (compiler_.load() == getpid()) {  // else the thread that compiles is in the process that forked this one
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kMaxWait, [this] { return is_over(); });
  }
  End();
}

// A worker that compiles, or waits and so leaves its processor to the compiling thread, runs no blocks: one
// such worker is enough.
const ptx2cpu_kernel* BetterCode::Newest(int64_t nanoseconds) {
  BeginIfWorth(nanoseconds);
  if (IsDue(nanoseconds) && !is_obtained_.exchange(true, std::memory_order_relaxed)) Obtain();
  return code_.load(std::memory_order_acquire);
}

void BetterCode::End() {
  {
    std::lock_guard lock(mutex_);
    over_.store(true, std::memory_order_release);
  }
  ended_.notify_all();
}

}  // namespace ptx2cpu::rt
