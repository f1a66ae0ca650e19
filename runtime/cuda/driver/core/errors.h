// From an error to the number that the program receives, and to the text that a person reads on stderr.
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

// Of loading and compiling.
cuda::CUresult ResultOf(const Error& error);
// Of a launch: a shape that is not legal, or a fault.
cuda::CUresult ResultOf(const rt::LaunchError& error);

// "ptx2cpu: message" on stderr. Not for errors that programs provoke and expect: for what a person needs to
// see.
void Warn(std::string_view message);

}  // namespace ptx2cpu::driver
