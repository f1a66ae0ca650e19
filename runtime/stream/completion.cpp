#include "runtime/stream/completion.h"

#include <algorithm>
#include <mutex>

#include "runtime/stream/stream.h"
#include "runtime/worker/futex.h"

namespace ptx2cpu::rt {

namespace {

constexpr int kSpins = 1000;  // 10 to 40 us of looking before a thread that waits for a stream sleeps

}  // namespace

// False: the number is done already.
bool Completion::AddWaiter(Waiter waiter) {
  std::lock_guard lock(lock_);
  // Announced before the last read of number_; Advance() does these two in the other order.
  const uint64_t before = notice_.load();
  notice_.store(std::min(before, waiter.number));
  if (number_.load() >= waiter.number) {
    notice_.store(before);
    return false;
  }
  waiters_.push_back(std::move(waiter));
  std::push_heap(waiters_.begin(), waiters_.end());
  return true;
}

void Completion::Notify() {
  std::vector<Waiter> done;
  {
    std::lock_guard lock(lock_);
    while (!waiters_.empty() && waiters_.front().number <= number_.load()) {
      std::pop_heap(waiters_.begin(), waiters_.end());
      done.push_back(std::move(waiters_.back()));
      waiters_.pop_back();
    }
    notice_.store(waiters_.empty() ? ~uint64_t{0} : waiters_.front().number);
  }
  for (Waiter& waiter : done) {
    if (waiter.stream != nullptr) {
      waiter.stream->Unblock();
    } else {
      waiter.sleeper->store(1);
      FutexWake(*waiter.sleeper);
    }
  }
}

void Completion::SleepUntil(uint64_t number) {
  for (int spins = 0; spins < kSpins; ++spins) {
    if (number_.load(std::memory_order_acquire) >= number) return;
    Pause();
  }
  std::atomic<uint32_t> woken = 0;
  if (!AddWaiter({number, nullptr, &woken})) return;
  while (woken.load() == 0) FutexWait(woken, 0);
}

}  // namespace ptx2cpu::rt
