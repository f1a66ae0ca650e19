// Runs resumable kernels without the runtime: a scheduler that takes any choice the rules leave at random,
// where the runtime's takes the quickest, so that generated code meets every grouping of lanes.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/abi/abi.h"

namespace ptx2cpu::llvm_test {

class StepDriver {
 public:
  // `whole_warps`: the kernel resumes warps, whose lanes always run together.
  StepDriver(const ptx2cpu_kernel& kernel, bool whole_warps, uint64_t seed)
      : kernel_(kernel), whole_warps_(whole_warps), random_(seed) {}

  // One-dimensional launch. Empty, or what went wrong.
  std::string Run(uint32_t grid, uint32_t threads, std::span<const std::byte> params);

 private:
  enum class State : uint8_t { kReady, kWaiting, kCounted, kExited };
  struct Barrier {
    uint32_t expected = 0, arrived = 0;
    bool in_use = false;
  };

  std::string RunBlock();
  void Step(uint32_t warp, uint32_t lanes, uint32_t entry);
  bool StepSomeWarp();
  bool CompleteCollectives(uint32_t warp);
  bool Converge(uint32_t warp);
  void CountAtBarrier(uint32_t warp);
  bool CompleteBarriers();
  void Release(uint32_t id);

  uint32_t Lanes(uint32_t warp, State state) const;  // of the warp, in that state
  uint32_t Alive(uint32_t warp) const;
  const ptx2cpu_point& PointOf(uint32_t thread) const { return kernel_.points[points_[thread]]; }
  uint32_t& Word(uint32_t thread, uint32_t number) {
    return words_[number * PTX2CPU_MAX_THREADS_PER_BLOCK + thread];
  }
  uint32_t Random(uint32_t below) { return std::uniform_int_distribution<uint32_t>(0, below - 1)(random_); }

  const ptx2cpu_kernel& kernel_;
  const bool whole_warps_;
  std::mt19937_64 random_;
  ptx2cpu_block block_ = {};
  std::vector<State> states_;
  std::vector<uint32_t> live_, tid_, points_, words_;
  Barrier barriers_[16];
};

}  // namespace ptx2cpu::llvm_test
