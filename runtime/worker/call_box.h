// The mailbox of one worker: others call it here when it has no work, and it names the job that it helps
// with. When a job begins and ends, the workers of a pool exchange nothing else; each has a cache line of its
// own. No counter is shared: at 32 workers that costs more than a short job.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/worker/futex.h"

namespace ptx2cpu::rt {

class alignas(64) CallBox {
 public:
  // The reason of a call: to look for ready streams, or a job: kJob + a number of the caller's. A call is a
  // hint: when the worker arrives, the work may be done.
  static constexpr uint32_t kLook = 3, kJob = 4;

  // The worker's side. It has no work: it polls the box, or will sleep.
  void Open(bool looks) { state_.store(looks ? kLooking : kParked); }
  bool called() const { return state_.load(std::memory_order_relaxed) >= kLook; }
  // Changes from polling to sleeping. False: the worker has been called.
  bool Park() {
    uint32_t looking = kLooking;
    return state_.compare_exchange_strong(looking, kParked);
  }
  // Sleeps until it is called; may also return without a call. nanoseconds 0: without a limit.
  void Sleep(uint64_t nanoseconds) { FutexWait(state_, kParked, nanoseconds); }
  // Ends the idle time. Returns the reason of the call; 0: it was not called.
  uint32_t Close() {
    const uint32_t state = state_.exchange(kBusy);
    return state >= kLook ? state : 0;
  }
  // The processor of the thread that made the last call.
  int caller_processor() const { return caller_processor_.load(std::memory_order_relaxed); }
  // The worker visits the job of a place, until Leave. Only meanwhile may it read which job that is.
  void Visit(uint32_t place) { visited_.exchange(place + 1); }
  void Leave() { visited_.store(0); }

  // The caller's side. False: the worker is not idle, or another call was faster.
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
