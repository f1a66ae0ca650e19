// The part of nvJitLink's C ABI that we use: the run-time linker from PTX, LTO IR and machine code to machine
// code, a library of the user's. Each function is exported by its name and as __nvJitLinkName_MAJOR_MINOR.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptx2cpu::cuda {

using nvJitLinkHandle = struct NvJitLink*;
enum nvJitLinkResult : int { NVJITLINK_SUCCESS = 0 };
enum nvJitLinkInputType : int {
  NVJITLINK_INPUT_CUBIN = 1,
  NVJITLINK_INPUT_PTX = 2,
  NVJITLINK_INPUT_LTOIR = 3,
  NVJITLINK_INPUT_FATBIN = 4,
  NVJITLINK_INPUT_OBJECT = 5,
  NVJITLINK_INPUT_LIBRARY = 6,
  NVJITLINK_INPUT_INDEX = 7,
  NVJITLINK_INPUT_ANY = 10,
};

using NvJitLinkCreate = nvJitLinkResult(nvJitLinkHandle* handle, uint32_t option_count, const char** options);
using NvJitLinkDestroy = nvJitLinkResult(nvJitLinkHandle* handle);
using NvJitLinkAddData = nvJitLinkResult(nvJitLinkHandle handle, nvJitLinkInputType type, const void* data,
                                         size_t bytes, const char* name);
using NvJitLinkAddFile = nvJitLinkResult(nvJitLinkHandle handle, nvJitLinkInputType type, const char* file);
using NvJitLinkComplete = nvJitLinkResult(nvJitLinkHandle handle);
using NvJitLinkGetSize = nvJitLinkResult(nvJitLinkHandle handle, size_t* bytes);
using NvJitLinkGetCubin = nvJitLinkResult(nvJitLinkHandle handle, void* bytes);
using NvJitLinkGetPtx = nvJitLinkResult(nvJitLinkHandle handle, char* bytes);

}  // namespace ptx2cpu::cuda
