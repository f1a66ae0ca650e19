// Code that may replace a kernel's while the kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

// Asked by the workers of a launch between blocks; several may ask at once.
class LaterCode {
 public:
  // The best code that exists by now, which stays valid as long as the kernel; null: none but what runs.
  // `nanoseconds`: for so long the launch has run. One of those who ask may be kept waiting until there is
  // better code, where that pays.
  virtual const ptx2cpu_kernel* Newest(int64_t nanoseconds) = 0;
  // A launch ran the kernel's first code for so long.
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
