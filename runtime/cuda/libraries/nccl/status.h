// Failures in words: on stderr, and for ncclGetLastError.
#pragma once

#include <string>

#include "runtime/cuda/abi/nccl_types.h"

namespace ptx2cpu::nccl {

// Reports "function: reason" and returns `result`.
cuda::ncclResult_t Fail(cuda::ncclResult_t result, const char* function, const std::string& reason);
// The last reason that the calling thread was given, or the process where it was given none.
const char* LastReason();

}  // namespace ptx2cpu::nccl
