// What the machine can do at most, measured: the roofs that times are compared with.
#pragma once

namespace ptx2cpu::suite {

struct Limits {
  double copy_bytes = 0;  // bytes per second that an OpenMP copy of arrays beyond the cache reads and writes
  double floats = 0, doubles = 0;  // operations per second; a fused multiply-add is two
};

// On one thread in its processor time, or on all threads in wall clock time.
Limits MeasureLimits(bool all_threads);

}  // namespace ptx2cpu::suite
