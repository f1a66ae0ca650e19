#include "runtime/cuda/libraries/core/device_memory.h"

#include "driver_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"

namespace ptx2cpu::libraries {

using namespace ::ptx2cpu::cuda;

CUresult Allocate(void** memory, size_t bytes) {
  if (const CUresult error = Begin()) return error;
  CUdeviceptr address{};
  const CUresult error = driver::cuMemAlloc_v2(&address, bytes);
  *memory = reinterpret_cast<void*>(address);
  return error;
}

CUresult Free(void* memory) {
  if (memory == nullptr) return CUDA_SUCCESS;
  return driver::cuMemFree_v2(reinterpret_cast<CUdeviceptr>(memory));
}

}  // namespace ptx2cpu::libraries
