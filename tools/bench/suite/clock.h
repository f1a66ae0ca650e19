// One thread is timed in its processor time, which other load hardly changes; all threads in wall clock time.
#pragma once

#include <ctime>

namespace ptx2cpu::suite {

inline double SecondsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}
inline double Seconds(bool all_threads) {
  return SecondsOf(all_threads ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace ptx2cpu::suite
