// From what went wrong to the number a program sees, and to what a person reads on stderr.
#pragma once

#include <string_view>

#include "ir/result.h"
#include "runtime/cuda/abi/driver_result.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::driver {

// "CUDA_ERROR_INVALID_VALUE"; null for what is no result.
const char* NameOf(cuda::CUresult result);
// One sentence; null for what is no result.
const char* TextOf(cuda::CUresult result);

// Of loading and compiling.
cuda::CUresult ResultOf(const Error& error);
// Of a launch: a shape that is not legal, or a fault.
cuda::CUresult ResultOf(const rt::LaunchError& error);

// "ptx2cpu: message" on stderr. Not for errors that programs ask for and expect: for what a person needs to
// see.
void Say(std::string_view message);

}  // namespace ptx2cpu::driver
