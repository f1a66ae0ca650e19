// Queries of the memory that a device reports for graphs.
#include "driver_api.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_footprint.h"
#include "runtime/cuda/driver/graph/graph_memory.h"

namespace ptx2cpu::driver {

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  Device* found = nullptr;
  if (const CUresult error = FindDevice(device, found)) return error;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphFootprint::Sizes sizes = GraphFootprint::Get().SizesOf(found->ordinal());
  auto* bytes = static_cast<cuuint64_t*>(value);
  switch (attr) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      return *bytes = sizes.used, CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      return *bytes = sizes.used_high, CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// The high watermarks can be reset, by setting them to 0.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  Device* found = nullptr;
  if (const CUresult error = FindDevice(device, found)) return error;
  if (value == nullptr || *static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
    return CUDA_ERROR_INVALID_VALUE;
  GraphFootprint::Get().ResetHigh(found->ordinal());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  Device* found = nullptr;
  if (const CUresult error = FindDevice(device, found)) return error;
  GraphPool(found->ordinal()).blocks().Trim(0);
  GraphFootprint::Get().Trim(found->ordinal());
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
