// Where one worker that has no work is called, and what it helps with: all that the workers of a pool
// exchange when a job begins and ends, in a line of each. No counter is shared: at 32 workers that costs more
// than a short job.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/worker/futex.h"

namespace ptx2cpu::rt {

class alignas(64) CallBox {
 public:
  // What a worker is called for: to look for ready streams, or for a job: kJob + a number of the caller's. A
  // call is a hint: when the worker arrives, the work may be done.
  static constexpr uint32_t kLook = 3, kJob = 4;

  // The worker's side: it has no work; it looks at the box, or will sleep.
  void Open(bool looks) { state_.store(looks ? kLooking : kParked); }
  bool called() const { return state_.load(std::memory_order_relaxed) >= kLook; }
  // From looking to sleeping. False: it has been called.
  bool Park() {
    uint32_t looking = kLooking;
    return state_.compare_exchange_strong(looking, kParked);
  }
  // Until it is called; may also return for no reason. nanoseconds 0: without a limit.
  void Sleep(uint64_t nanoseconds) { FutexWait(state_, kParked, nanoseconds); }
  // Ends the idle time. What it was called for; 0: it was not called.
  uint32_t Close() {
    const uint32_t state = state_.exchange(kBusy);
    return state >= kLook ? state : 0;
  }
  // Where the thread was that made the last call.
  int caller_processor() const { return caller_processor_.load(std::memory_order_relaxed); }
  // It looks at the job of a place, until Leave. Only then may it read which job that is.
  void Visit(uint32_t place) { visited_.exchange(place + 1); }
  void Leave() { visited_.store(0); }

  // The other side. False: the worker is not idle, or another call was faster.
  bool Call(uint32_t what, int processor) {
    uint32_t state = state_.load(std::memory_order_relaxed);
    if (state == kLooking && state_.compare_exchange_strong(state, what)) return true;
    if (state != kParked) return false;
    caller_processor_.store(processor, std::memory_order_relaxed);
    if (!state_.compare_exchange_strong(state, what)) return false;
    FutexWake(state_, 1);
    return true;
  }
  bool visits(uint32_t place) const { return visited_.load() == place + 1; }

 private:
  static constexpr uint32_t kBusy = 0, kLooking = 1, kParked = 2;

  std::atomic<uint32_t> state_{kBusy}, visited_{0};
  std::atomic<int> caller_processor_{-1};
};

}  // namespace ptx2cpu::rt
