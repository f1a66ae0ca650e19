// Sleeping on a word (Linux futexes).
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace ptx2cpu::rt {

// A set of groups of sleepers on a word. A call wakes the sleepers whose set shares a group with its own.
constexpr uint32_t kAnySleeper = FUTEX_BITSET_MATCH_ANY;

// Sleeps while the word has this value; may also return without a call. nanoseconds 0: without a limit.
inline void FutexWait(std::atomic<uint32_t>& word, uint32_t value, uint64_t nanoseconds = 0,
                      uint32_t groups = kAnySleeper) {
  timespec end = {};
  if (nanoseconds != 0) {  // this form of the call takes a time of the clock
    clock_gettime(CLOCK_MONOTONIC, &end);
    const uint64_t sum = static_cast<uint64_t>(end.tv_nsec) + nanoseconds;
    end.tv_sec += static_cast<time_t>(sum / 1000000000);
    end.tv_nsec = static_cast<long>(sum % 1000000000);
  }
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, nanoseconds == 0 ? nullptr : &end, nullptr,
          groups);
}

inline void FutexWake(std::atomic<uint32_t>& word, int count = INT_MAX, uint32_t groups = kAnySleeper) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, count, nullptr, nullptr, groups);
}

}  // namespace ptx2cpu::rt
