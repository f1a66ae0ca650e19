// The place of a thread in its block.
#pragma once

#include "runtime/abi/abi.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu {

// The place of the thread with this number; the first place for numbers that the block does not have.
inline Dim3 PlaceOfThread(const ptx2cpu_block& block, uint32_t thread) {
  const uint32_t tid = thread < block.thread_padded ? block.tid[thread] : 0;
  constexpr uint32_t kMask = (1u << PTX2CPU_TID_Y_SHIFT) - 1;
  return {tid & kMask, tid >> PTX2CPU_TID_Y_SHIFT & kMask, tid >> PTX2CPU_TID_Z_SHIFT & kMask};
}

}  // namespace ptx2cpu
