// Code that may replace a kernel's while the kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

// The workers of a launch call this between blocks; several may call at once.
class LaterCode {
 public:
  // The best code that exists now, which stays valid as long as the kernel; null: none except the running
  // one. `nanoseconds`: how long the launch has run. One of the callers may be kept waiting until better code
  // exists, where that pays.
  virtual const ptx2cpu_kernel* Newest(int64_t nanoseconds) = 0;
  // Reports that a launch ran the kernel's first code for this time.
  virtual void AddTime(int64_t nanoseconds) = 0;

 protected:
  ~LaterCode() = default;
};

// Whether blocks of a launch may run one code and others the other: the same memory for each block, and
// parameters that are aligned as `later` assumes. Their axes may differ (runtime/abi/swapped_axes.h).
bool MayReplace(const ptx2cpu_kernel& kernel, const ptx2cpu_kernel& later, const std::byte* parameters);

// Whether the parameters are aligned as the code assumes.
bool AreAligned(const ptx2cpu_kernel& kernel, const std::byte* parameters);

}  // namespace ptx2cpu::rt
