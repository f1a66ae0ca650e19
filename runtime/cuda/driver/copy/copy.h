// Copies as the API requests them: planned, queued, and waited for where the manual makes the caller
// wait.
#pragma once

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/copy/copy_plan.h"

namespace ptx2cpu::driver {

enum class CopyMode : uint8_t {
  kSynchronous,   // cuMemcpy: on the default stream; device to device the caller does not wait
  kAsynchronous,  // cuMemcpyAsync: the caller waits only for pageable memory
  kFromCall,      // batch copies: the source is read before the call returns
  kFree,          // batch copies: the program keeps the source alive, pageable or not
};

cuda::CUresult RunCopy(const CopyRequest& request, cuda::CUstream stream, CopyMode mode);

// For graphs: the copy of a node's parameters, and the parameters of a copy.
cuda::CUresult MakeCopyWork(const cuda::CUDA_MEMCPY3D& copy, rt::CopyWork* work);
cuda::CUDA_MEMCPY3D NodeParametersOf(const CopyRequest& request);
cuda::CUresult MakeFillWork(const cuda::CUDA_MEMSET_NODE_PARAMS_v2& fill, rt::FillWork* work);

}  // namespace ptx2cpu::driver
