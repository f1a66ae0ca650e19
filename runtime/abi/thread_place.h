// Where in its block a thread is.
#pragma once

#include "runtime/abi/abi.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu {

// Of a thread by its number in the block; of numbers that the block does not have, the first place.
inline Dim3 PlaceOfThread(const ptx2cpu_block& block, uint32_t thread) {
  const uint32_t tid = thread < block.thread_padded ? block.tid[thread] : 0;
  constexpr uint32_t kMask = (1u << PTX2CPU_TID_Y_SHIFT) - 1;
  return {tid & kMask, tid >> PTX2CPU_TID_Y_SHIFT & kMask, tid >> PTX2CPU_TID_Z_SHIFT & kMask};
}

}  // namespace ptx2cpu
