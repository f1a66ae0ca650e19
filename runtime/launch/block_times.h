// The times that blocks of kernels took. Internal to this folder.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

// The time that a block of a kernel took in an earlier launch. It is a hint, so another kernel's entry may
// replace it. An entry is one word: the kernel's address, of which the last bits are zero or left out, and
// the time in units of 16 ns.
class BlockTimes {
 public:
  // In seconds; 0: not known.
  double Get(const ptx2cpu_kernel& kernel) const {
    const uint64_t entry = EntryOf(kernel).load(std::memory_order_relaxed);
    return entry >> kTimeBits == Tag(kernel) ? static_cast<double>(entry & kMaxTime) * kUnit : 0;
  }
  void Set(const ptx2cpu_kernel& kernel, double seconds) {
    const uint64_t time =
        static_cast<uint64_t>(std::clamp(seconds / kUnit, 1.0, static_cast<double>(kMaxTime)));
    EntryOf(kernel).store(Tag(kernel) << kTimeBits | time, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kTimeBits = 20;
  static constexpr uint64_t kMaxTime = (uint64_t{1} << kTimeBits) - 1;
  static constexpr double kUnit = 16e-9;
  static uint64_t Tag(const ptx2cpu_kernel& kernel) {
    return reinterpret_cast<uintptr_t>(&kernel) >> 3 & ((uint64_t{1} << (64 - kTimeBits)) - 1);
  }
  std::atomic<uint64_t>& EntryOf(const ptx2cpu_kernel& kernel) const {
    return entries_[Tag(kernel) * 0x9e3779b97f4a7c15 >> 56];
  }
  mutable std::atomic<uint64_t> entries_[256] = {};
};

}  // namespace ptx2cpu::rt
