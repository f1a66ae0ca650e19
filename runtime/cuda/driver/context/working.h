// The check that the libraries over the driver make before work of their own.
#pragma once

#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::driver {

// CUDA_SUCCESS: the calling thread has a context, and no kernel has faulted in it. Else NOT_INITIALIZED,
// INVALID_CONTEXT (none), CONTEXT_IS_DESTROYED, or the sticky error. Two loads for a thread with a context.
cuda::CUresult StateOfWork();

}  // namespace ptx2cpu::driver
