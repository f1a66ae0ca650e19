// cuMemAlloc and what belongs to it: device and managed memory, pitched memory, how much there is.
#include "runtime/cuda/driver/memory/memory.h"

#include <unistd.h>

#include <mutex>
#include <unordered_set>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/memory_limits.h"
#include "runtime/cuda/driver/core/device.h"
#include "runtime/cuda/driver/graph/graph_memory.h"
#include "runtime/cuda/driver/memory/memory_advice.h"
#include "runtime/cuda/driver/memory/memory_heap.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/stream/capture.h"

namespace ptx2cpu::driver {

namespace {

// Pinned memory is whole pages, as programs that hand it to the system expect; the rest is aligned for
// textures.
size_t AlignmentOf(RangeKind kind) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return kind == RangeKind::kPinned ? page : MemoryHeap::kAlignment;
}

// A __managed__ variable is managed memory too, but its module owns it.
bool FromHeap(const Range& range) {
  const bool kind = range.kind == RangeKind::kDevice || range.kind == RangeKind::kPitched ||
                    range.kind == RangeKind::kPinned || range.kind == RangeKind::kManaged;
  return kind && range.owner == nullptr;
}

// What a context owns so that its memory goes with it.
struct MemoryOfContext {
  const Context* context;

  static void End(void* object) {
    const std::unique_ptr<MemoryOfContext> self(static_cast<MemoryOfContext*>(object));
    const auto gone = Allocations::Get().RemoveAll([&](const Range& range) {
      return range.context == self->context && (FromHeap(range) || range.kind == RangeKind::kRegistered);
    });
    for (const Range& range : gone) ReleaseMemory(range);
  }
};

constexpr size_t kPitchAlignment =
    512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, so that rows serve as textures

}  // namespace

void ReleaseAtEnd(Context& context) {
  thread_local uint64_t last_id = 0;  // a context's id changes when it begins again
  if (last_id == context.id()) return;
  static std::mutex mutex;
  static std::unordered_set<uint64_t> known;
  const std::lock_guard lock(mutex);
  if (known.insert(context.id()).second) context.Own(new MemoryOfContext{&context}, MemoryOfContext::End);
  last_id = context.id();
}

CUresult AllocateMemory(Context& context, RangeKind kind, size_t bytes, unsigned flags, std::byte** made) {
  auto* memory = static_cast<std::byte*>(MemoryHeap::Get().Allocate(bytes, AlignmentOf(kind)));
  if (memory == nullptr) {
    ReleaseIdlePools();  // what pools keep for later is better used now
    memory = static_cast<std::byte*>(MemoryHeap::Get().Allocate(bytes, AlignmentOf(kind)));
  }
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ReleaseAtEnd(context);
  Range range;
  range.base = reinterpret_cast<uintptr_t>(memory), range.size = bytes, range.kind = kind;
  range.device = context.device().ordinal(), range.flags = flags, range.context = &context;
  range.sync_memops = kind == RangeKind::kManaged;
  Allocations::Get().Insert(range);
  *made = memory;
  return CUDA_SUCCESS;
}

void ReleaseMemory(const Range& range) {
  if (range.kind == RangeKind::kManaged) AdviceMap::Get().Forget(range.base, range.base + range.size);
  if (FromHeap(range))
    MemoryHeap::Get().Free(reinterpret_cast<void*>(range.base), range.size, AlignmentOf(range.kind));
}

CUresult AwaitUsers(Context& current, const Range& range) {
  current.streams().Synchronize();
  auto* owner = const_cast<Context*>(static_cast<const Context*>(range.context));
  if (owner != nullptr && owner != &current && owner->alive()) owner->streams().Synchronize();
  return current.error();
}

CUresult ContextToFree(const Range* range, Context*& context) {
  const CUresult error = WorkingContext(context);
  if (error != CUDA_ERROR_INVALID_CONTEXT || range == nullptr || range->context == nullptr) return error;
  context = const_cast<Context*>(static_cast<const Context*>(range->context));
  return context->alive() ? context->error() : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

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
  if (!range || range->base != dptr || !freeable(*range)) return CUDA_ERROR_INVALID_VALUE;
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
