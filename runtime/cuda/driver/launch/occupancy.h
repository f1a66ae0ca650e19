// The number of blocks that a device has at once. A multiprocessor is a worker thread here, which runs one
// block at a time. Programs size grids by the result, so it is that of a GPU, but never more than a
// cooperative launch can have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver/code/function.h"

namespace ptx2cpu::driver {

inline constexpr uint32_t kPortableClusterBlocks = 8;  // more only if the function permits it
// Bytes of shared memory that a multiprocessor has, and what each block takes besides its own.
inline constexpr size_t kSharedPerMultiprocessor = 233472, kSharedReservedPerBlock = 1024;

// A function that has been compiled.
struct Compiled {
  Function* function = nullptr;
  const ptx2cpu_kernel* kernel = nullptr;
  int max_threads = 0;
};

// The number of blocks with this many threads; 0: none can run.
int BlocksPerMultiprocessor(const Compiled& f, int threads, size_t dynamic_shared);

// Blocks of the largest grid that a cooperative launch of this shape can have: the occupancy times the
// multiprocessors. They can all be resident.
uint64_t MaxCooperativeGrid(Function& function, const ptx2cpu_kernel& kernel, const rt::LaunchShape& shape);

}  // namespace ptx2cpu::driver
