// How the tests of progress run a program whose threads wait for each other, and the memory it works on.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/runtime/step_kernel.h"

namespace ptx2cpu::test {

// The program's global memory.
struct Global {
  std::atomic<uint32_t> ticket{0}, serving{0}, arrived{0}, generation{0}, wrong{0};
  uint64_t counter = 0;  // guarded by the lock
  uint32_t rounds = 0;
  std::vector<std::atomic<uint32_t>> flags;
  explicit Global(size_t count = 0) : flags(count) {}
};
inline Global& GlobalOf(const LaneState& lane) { return *ParamOf<Global*>(lane.block); }

inline const ptx2cpu_point kSync = {PTX2CPU_POINT_BARRIER, 0, 21, "bar.sync"};
inline const std::vector<ptx2cpu_point> kSpinPoints = {kStart, kYield, kSync, kSync, kSync};

template <typename Program>
std::optional<rt::LaunchError> RunOn(Global& global, const std::vector<ptx2cpu_point>& points,
                                     const rt::LaunchShape& shape, unsigned workers,
                                     bool cooperative = false) {
  auto* pointer = &global;
  rt::LaunchOptions options;
  options.max_workers = workers;
  options.cooperative = cooperative;
  return rt::Launch(MakeStepKernel<Program>("progress", points), shape, AsParameters(pointer), options);
}

}  // namespace ptx2cpu::test
