// The part of NVRTC's C ABI that we use: the run-time compiler from CUDA C++ to PTX or machine code, a
// library of the user's.
#pragma once

#include <cstddef>

namespace ptx2cpu::cuda {

using nvrtcProgram = struct NvrtcProgram*;
enum nvrtcResult : int { NVRTC_SUCCESS = 0 };

using NvrtcCompileProgram = nvrtcResult(nvrtcProgram program, int option_count, const char* const* options);
using NvrtcGetSize = nvrtcResult(nvrtcProgram program, size_t* bytes);  // nvrtcGetPTXSize, nvrtcGetCUBINSize
using NvrtcGetBytes = nvrtcResult(nvrtcProgram program, char* bytes);   // nvrtcGetPTX, nvrtcGetCUBIN

}  // namespace ptx2cpu::cuda
