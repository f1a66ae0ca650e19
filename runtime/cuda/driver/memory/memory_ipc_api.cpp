// Handles of device memory for other processes of this machine.
#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/memory/memory.h"
#include "runtime/cuda/driver/memory/shared_memory.h"

namespace ptx2cpu::driver {

CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(dptr));
  const bool exportable =
      range && (range->kind == RangeKind::kDevice || range->kind == RangeKind::kPitched) && FromHeap(*range);
  if (pHandle == nullptr || !exportable) return CUDA_ERROR_INVALID_VALUE;
  // Its pages move into a file: kernels that write them must have ended.
  if (const CUresult error = AwaitUsers(*context, *range)) return error;
  SharedPlace place;
  if (const CUresult error = SharedMemory::Get().Export(*range, place)) return error;
  static_assert(sizeof place <= sizeof *pHandle);
  *pHandle = {};
  std::memcpy(pHandle, &place, sizeof place);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  if (pdptr == nullptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  SharedPlace place;
  std::memcpy(&place, &handle, sizeof place);
  if (ExportServer::Get().Own(place.name)) return CUDA_ERROR_INVALID_CONTEXT;  // it has the address itself
  return SharedMemory::Get().Open(place, context, pdptr);
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(dptr));
  if (!range || range->base != dptr || range->kind != RangeKind::kDevice ||
      !SharedMemory::Get().Opened(*range))
    return CUDA_ERROR_INVALID_VALUE;
  const CUresult state = AwaitUsers(*context, *range);
  const CUresult closed = SharedMemory::Get().Close(*range);
  return closed != CUDA_SUCCESS ? closed : state;
}

}  // namespace ptx2cpu::driver
