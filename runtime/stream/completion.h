// Counts the operations that a stream has completed, and wakes the waiters for a number.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

class Stream;

class Completion {
 public:
  // A waiter for a number: another stream or a sleeping thread.
  struct Waiter {
    uint64_t number = 0;
    std::shared_ptr<Stream> stream;
    std::atomic<uint32_t>* sleeper = nullptr;
    bool operator<(const Waiter& other) const {
      return number > other.number;
    }  // least number on top of a heap
  };

  uint64_t number() const { return number_.load(std::memory_order_acquire); }
  // For the thread that runs the stream.
  void Advance() {
    const uint64_t number = number_.load(std::memory_order_relaxed) + 1;
    number_.store(number);
    if (number >= notice_.load()) Notify();
  }
  bool AddWaiter(Waiter waiter);
  void SleepUntil(uint64_t number);

 private:
  void Notify();

  std::atomic<uint64_t> number_{0};
  std::atomic<uint64_t> notice_{~uint64_t{0}};  // least number in waiters_
  SpinLock lock_;                               // waiters_
  std::vector<Waiter> waiters_;                 // heap
};

}  // namespace ptx2cpu::rt
