// Pinned memory, and memory of the program that it registers.
#include <mutex>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/memory/memory.h"

namespace ptx2cpu::driver {

namespace {

constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

bool Pinned(const Range& range) { return range.kind == RangeKind::kPinned; }
bool Registered(const Range& range) { return range.kind == RangeKind::kRegistered; }

CUresult AllocateHost(void** pp, size_t bytes, unsigned flags) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  if (pp == nullptr || (flags & ~kAllocFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  *pp = nullptr;
  if (bytes == 0) return CUDA_SUCCESS;
  std::byte* made = nullptr;
  const CUresult result = AllocateMemory(*context, RangeKind::kPinned, bytes, flags, &made);
  if (result == CUDA_SUCCESS) *pp = made;
  return result;
}

}  // namespace

CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) { return AllocateHost(pp, bytesize, 0); }
CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  return AllocateHost(pp, bytesize, Flags);
}

CUresult cuMemFreeHost(void* p) {
  const auto range = Allocations::Get().Find(p);
  Context* context;
  if (const CUresult error = ContextToFree(range ? &*range : nullptr, context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  if (p == nullptr) return CUDA_SUCCESS;
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (!range || range->base != address || !Pinned(*range)) return RefuseFree("cuMemFreeHost", address);
  const CUresult state = AwaitUsers(*context, *range);
  const auto gone = Allocations::Get().Remove(range->base, Pinned);
  if (!gone) return CUDA_ERROR_INVALID_VALUE;
  ReleaseMemory(*gone);
  return state;
}

CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  if (p == nullptr || bytesize == 0 || (Flags & ~kRegisterFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  Range range;
  range.base = reinterpret_cast<uintptr_t>(p), range.size = bytesize, range.kind = RangeKind::kRegistered;
  if (range.base + bytesize < range.base) return CUDA_ERROR_INVALID_VALUE;
  range.device = context->device().ordinal(), range.flags = Flags, range.context = context;
  ReleaseAtEnd(*context);
  if (Allocations::Get().Insert(range)) return CUDA_SUCCESS;
  const auto there = Allocations::Get().Find(p);
  // Memory of the driver's own cannot be registered; only what the program registered before is "again".
  return there && !Registered(*there) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
  return cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult cuMemHostUnregister(void* p) {
  const auto range = Allocations::Get().Find(p);
  Context* context;
  if (const CUresult error = ContextToFree(range ? &*range : nullptr, context)) return error;
  if (const CUresult error = AllowedDuringCapture()) return error;
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!range) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (!Registered(*range) || range->base != reinterpret_cast<uintptr_t>(p)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult state = AwaitUsers(*context, *range);
  return Allocations::Get().Remove(range->base, Registered) ? state : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pdptr == nullptr || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto range = Allocations::Get().Find(p);
  if (!range || (!Pinned(*range) && !Registered(*range))) return CUDA_ERROR_INVALID_VALUE;
  *pdptr = reinterpret_cast<CUdeviceptr>(p);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  const auto range = Allocations::Get().Find(p);
  if (pFlags == nullptr || !range || (!Pinned(*range) && !Registered(*range)))
    return CUDA_ERROR_INVALID_VALUE;
  // Where addresses are unified all pinned memory is mapped, and portable without the flag.
  *pFlags = CU_MEMHOSTALLOC_DEVICEMAP | (Pinned(*range) ? range->flags & CU_MEMHOSTALLOC_WRITECOMBINED : 0u);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
