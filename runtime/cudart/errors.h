// From the driver's results to the runtime's errors.
#pragma once

#include "runtime/abi/cuda/runtime_types.h"

namespace ptx2cpu::cudart {

// Keeps the error for cudaGetLastError of this thread; cudaErrorNotReady is none.
void NoteError(cuda::cudaError_t error);

// Notes the error and returns it: for functions that do not return their error themselves.
cuda::cudaError_t Failed(cuda::cudaError_t error);

// Numbers from 100 on are the same in both; below, the driver's few have a number of their own in the runtime.
inline cuda::cudaError_t FromDriver(cuda::CUresult result) {
  switch (result) {
    case cuda::CUDA_ERROR_INVALID_VALUE: return cuda::cudaErrorInvalidValue;
    case cuda::CUDA_ERROR_OUT_OF_MEMORY: return cuda::cudaErrorMemoryAllocation;
    case cuda::CUDA_ERROR_NOT_INITIALIZED: return cuda::cudaErrorInitializationError;
    case cuda::CUDA_ERROR_DEINITIALIZED: return cuda::cudaErrorCudartUnloading;
    default: return static_cast<cuda::cudaError_t>(result);
  }
}

}  // namespace ptx2cpu::cudart
