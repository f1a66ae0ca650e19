// Flush to zero around the blocks of a kernel that runs with it: writing MXCSR costs as much as a small
// block. Internal to this folder.
#pragma once

#include "runtime/abi/abi.h"
#include "runtime/abi/flushing.h"

namespace ptx2cpu::rt {

class FlushingScope {
 public:
  explicit FlushingScope([[maybe_unused]] const ptx2cpu_kernel& kernel) {
#if defined(__x86_64__)
    if ((kernel.flags & PTX2CPU_KERNEL_FLUSHES) == 0) return;
    saved_ = __builtin_ia32_stmxcsr();
    if ((saved_ & PTX2CPU_FLUSH_TO_ZERO) != 0) return;
    __builtin_ia32_ldmxcsr(saved_ | PTX2CPU_FLUSH_TO_ZERO);
    changed_ = true;
#endif
  }
  ~FlushingScope() {
#if defined(__x86_64__)
    if (changed_) __builtin_ia32_ldmxcsr(saved_);
#endif
  }
  FlushingScope(const FlushingScope&) = delete;
  FlushingScope& operator=(const FlushingScope&) = delete;

 private:
  [[maybe_unused]] unsigned saved_ = 0;
  [[maybe_unused]] bool changed_ = false;
};

}  // namespace ptx2cpu::rt
