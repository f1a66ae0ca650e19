// From the driver's results to the runtime's errors.
#pragma once

#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cudart {

// Keeps the error for cudaGetLastError of this thread; cudaErrorNotReady is no error.
void NoteError(cuda::cudaError_t error);

// The last error of this thread; TakeError also clears it.
cuda::cudaError_t TakeError();
cuda::cudaError_t PeekAtError();

// The runtime's numbers are the driver's; it has a few more of its own (runtime_errors.def).
inline cuda::cudaError_t FromDriver(cuda::CUresult result) { return static_cast<cuda::cudaError_t>(result); }

}  // namespace ptx2cpu::cudart
