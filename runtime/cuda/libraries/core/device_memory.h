// Memory of the calling thread's device, as cudaMalloc and cudaFree have it.
#pragma once

#include <cstddef>

#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::libraries {

// OUT_OF_MEMORY, and what Begin (core/stream_call.h) reports.
cuda::CUresult Allocate(void** memory, size_t bytes);
// A null pointer is no error.
cuda::CUresult Free(void* memory);

}  // namespace ptx2cpu::libraries
