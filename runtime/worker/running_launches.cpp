#include "runtime/worker/running_launches.h"

#include "runtime/worker/futex.h"
#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

namespace {
constexpr int kLooks = 2000;  // before it sleeps: about as long as waking takes
}

void RunningLaunches::Join() {
  uint32_t state = state_.load(std::memory_order_relaxed);
  for (int looks = 0;;) {
    if ((state & kAlone) == 0) {
      if (state_.compare_exchange_weak(state, state + kOne)) return;
    } else if ((state & kAsked) == 0) {
      state_.compare_exchange_weak(state, state | kAsked);
    } else {
      if (++looks < kLooks) {
        Pause();
      } else {
        FutexWait(state_, state);
      }
      state = state_.load(std::memory_order_relaxed);
    }
  }
}

void RunningLaunches::EndAlone() {
  if ((state_.fetch_and(~(kAlone | kAsked)) & kAsked) != 0) FutexWake(state_);
}

void RunningLaunches::End(bool alone) {
  uint32_t expected = kOne | kAlone;
  if (alone && state_.compare_exchange_strong(expected, 0)) return;
  if (alone) EndAlone();
  state_.fetch_sub(kOne);
}

}  // namespace ptx2cpu::rt
