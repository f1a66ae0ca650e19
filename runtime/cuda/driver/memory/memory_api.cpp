// cuMemAlloc and related functions: device and managed memory, pitched memory, the amount of memory.
#include <unistd.h>

#include <mutex>
#include <unordered_set>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/context/memory_limits.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/graph/graph_memory.h"
#include "runtime/cuda/driver/memory/checked_memory.h"
#include "runtime/cuda/driver/memory/memory.h"
#include "runtime/cuda/driver/memory/memory_advice.h"
#include "runtime/cuda/driver/memory/memory_heap.h"
#include "runtime/cuda/driver/memory/pool.h"

namespace ptx2cpu::driver {

namespace {

constexpr size_t kPitchAlignment =
    512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, so that rows serve as textures

}  // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  std::byte* made = nullptr;
  const CUresult result = AllocateMemory(*context, RangeKind::kDevice, bytesize, 0, &made);
  if (result == CUDA_SUCCESS) *dptr = reinterpret_cast<CUdeviceptr>(made);
  return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  const bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
  if (dptr == nullptr || pPitch == nullptr || WidthInBytes == 0 || Height == 0 || !element)
    return CUDA_ERROR_INVALID_VALUE;
  if (WidthInBytes > SIZE_MAX - kPitchAlignment) return CUDA_ERROR_OUT_OF_MEMORY;
  const size_t pitch = (WidthInBytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  size_t bytes = 0;
  if (__builtin_mul_overflow(pitch, Height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  std::byte* made = nullptr;
  const CUresult result = AllocateMemory(*context, RangeKind::kPitched, bytes, 0, &made);
  if (result != CUDA_SUCCESS) return result;
  CheckedMemory::Get().HasRows(reinterpret_cast<uintptr_t>(made), pitch, WidthInBytes);
  *dptr = reinterpret_cast<CUdeviceptr>(made);
  *pPitch = pitch;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  const bool attach = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST;
  if (dptr == nullptr || bytesize == 0 || !attach) return CUDA_ERROR_INVALID_VALUE;
  std::byte* made = nullptr;
  const CUresult result = AllocateMemory(*context, RangeKind::kManaged, bytesize, flags, &made);
  if (result == CUDA_SUCCESS) *dptr = reinterpret_cast<CUdeviceptr>(made);
  return result;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(dptr));
  Context* context;
  if (const CUresult error = ContextToFree(range ? &*range : nullptr, context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  if (dptr == 0) return CUDA_SUCCESS;
  const auto freeable = [](const Range& range) {
    return range.OnDevice() && (FromHeap(range) || range.kind == RangeKind::kPool);
  };
  if (!range || range->base != dptr || !freeable(*range)) return RefuseFree("cuMemFree", dptr);
  const CUresult state = AwaitUsers(*context, *range);
  if (IsGraphMemory(*range))
    return state == CUDA_SUCCESS ? FreeGraphMemory(dptr) : state;  // it goes with its graph
  const auto gone = Allocations::Get().Remove(static_cast<uintptr_t>(dptr), freeable);
  if (!gone) return CUDA_ERROR_INVALID_VALUE;  // another thread was faster
  if (gone->kind == RangeKind::kPool) {
    FreePoolMemory(*gone, {});
  } else {
    ReleaseMemory(*gone);
  }
  return state;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *free = MemoryLimits::Get().free();
  *total = MemoryLimits::Get().total();
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  const auto range = Allocations::Get().Find(static_cast<uintptr_t>(dptr));
  if (!range || range->kind == RangeKind::kArray) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = range->base;
  if (psize != nullptr) *psize = range->size;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
