// Converts errors to the number that the program receives, and to the text that a person reads on stderr.
#pragma once

#include <string_view>

#include "ir/result.h"
#include "runtime/cuda/abi/driver_result.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::driver {

// "CUDA_ERROR_INVALID_VALUE"; null for an unknown result.
const char* NameOf(cuda::CUresult result);
// One sentence; null for an unknown result.
const char* TextOf(cuda::CUresult result);

// The result for an error of loading or compiling.
cuda::CUresult ResultOf(const Error& error);
// The result for an error of a launch: an illegal shape, or a fault.
cuda::CUresult ResultOf(const rt::LaunchError& error);

// "ptx2cpu: message" on stderr. For messages that a person needs to see, not for errors that programs provoke
// and expect.
void Warn(std::string_view message);

}  // namespace ptx2cpu::driver
