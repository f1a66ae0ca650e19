#include "runtime/device/clock.h"

#include <time.h>

#include <algorithm>
#include <cmath>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ptx2cpu::rt {

namespace {

uint64_t Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)

// Reads both clocks at once: the closest pair of a few tries, as the thread may be interrupted in between.
struct Moment {
  uint64_t ticks, nanoseconds;
};
Moment Look() {
  Moment best{};
  uint64_t closest = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = __rdtsc(), nanoseconds = Nanoseconds(), after = __rdtsc();
    if (after - before >= closest) continue;
    closest = after - before;
    best = {before + closest / 2, nanoseconds};
  }
  return best;
}

int Measure() {
  constexpr uint64_t kLongEnough = 1000000;
  const Moment begin = Look();
  while (Nanoseconds() - begin.nanoseconds < kLongEnough) _mm_pause();
  const Moment end = Look();
  const double megahertz = static_cast<double>(end.ticks - begin.ticks) * 1e3 /
                           static_cast<double>(end.nanoseconds - begin.nanoseconds);
  return std::max(1, static_cast<int>(std::lround(megahertz))) * 1000;
}

#endif

}  // namespace

#if defined(__x86_64__)
uint64_t ReadClock() { return __rdtsc(); }
int ClockKiloHertz() {
  static const int kilohertz = Measure();
  return kilohertz;
}
#else
uint64_t ReadClock() { return Nanoseconds(); }
int ClockKiloHertz() { return 1000000; }
#endif

}  // namespace ptx2cpu::rt
