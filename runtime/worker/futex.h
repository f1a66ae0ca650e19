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

// Sleeps while the word has this value; may also return for no reason. nanoseconds 0: without a limit.
inline void FutexWait(std::atomic<uint32_t>& word, uint32_t value, uint64_t nanoseconds = 0) {
  const timespec limit = {static_cast<time_t>(nanoseconds / 1000000000),
                          static_cast<long>(nanoseconds % 1000000000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nanoseconds == 0 ? nullptr : &limit, nullptr, 0);
}

inline void FutexWake(std::atomic<uint32_t>& word, int count = INT_MAX) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace ptx2cpu::rt
