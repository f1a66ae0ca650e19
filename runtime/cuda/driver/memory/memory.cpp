// Memory of contexts: its allocation and its return to the heap.
#include "runtime/cuda/driver/memory/memory.h"

#include <unistd.h>

#include "runtime/abi/check.h"
#include "runtime/check/memory.h"
#include "runtime/check/wanted.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/context/memory_limits.h"
#include "runtime/cuda/driver/memory/checked_memory.h"
#include "runtime/cuda/driver/memory/memory_advice.h"
#include "runtime/cuda/driver/memory/memory_heap.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/memory/shared_memory.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// Pinned memory consists of complete pages, as programs that pass it to the system expect; the rest is
// aligned for textures.
size_t AlignmentOf(RangeKind kind) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return kind == RangeKind::kPinned ? page : MemoryHeap::kAlignment;
}

}  // namespace

bool FromHeap(const Range& range) {
  const bool kind = range.kind == RangeKind::kDevice || range.kind == RangeKind::kPitched ||
                    range.kind == RangeKind::kPinned || range.kind == RangeKind::kManaged;
  return kind && range.owner == nullptr;
}

namespace {

// What a context owns so that its memory goes with it.
struct MemoryOfContext {
  const Context* context;

  static void End(void* object) {
    const std::unique_ptr<MemoryOfContext> self(static_cast<MemoryOfContext*>(object));
    const auto gone = Allocations::Get().RemoveAll([&](const Range& range) {
      return range.context == self->context && (FromHeap(range) || range.kind == RangeKind::kRegistered);
    });
    if (rt::check::WantedKinds() != 0) CheckedMemory::Get().ReportLeaks(gone);
    for (const Range& range : gone) ReleaseMemory(range);
  }
};

}  // namespace

void ReleaseAtEnd(Context& context) {
  if (context.BeginMemory()) context.Own(new MemoryOfContext{&context}, MemoryOfContext::End);
}

namespace {

void GiveBack(const Range& range) {
  MemoryHeap::Get().Free(reinterpret_cast<void*>(range.base), range.size, AlignmentOf(range.kind));
}

// Pools and checks keep freed memory, which is better used now.
void GiveBackKept() {
  ReleaseIdlePools();
  if (rt::check::WantedKinds() == 0) return;
  for (const Range& range : CheckedMemory::Get().DropKept()) GiveBack(range);
}

}  // namespace

CUresult AllocateMemory(Context& context, RangeKind kind, size_t bytes, unsigned flags, std::byte** made) {
  auto* memory = static_cast<std::byte*>(MemoryHeap::Get().Allocate(bytes, AlignmentOf(kind)));
  if (memory == nullptr) {
    GiveBackKept();
    memory = static_cast<std::byte*>(MemoryHeap::Get().Allocate(bytes, AlignmentOf(kind)));
  }
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ReleaseAtEnd(context);
  Range range;
  range.base = reinterpret_cast<uintptr_t>(memory), range.size = bytes, range.kind = kind;
  range.device = context.device().ordinal(), range.flags = flags, range.context = &context;
  range.sync_memops = kind == RangeKind::kManaged;
  if (rt::check::WantedKinds() != 0) CheckedMemory::Get().Made(range);
  Allocations::Get().Insert(range);
  if ((rt::check::WantedKinds() & PTX2CPU_CHECKS_INIT) != 0) rt::check::MarkUninitialised(memory, bytes);
  *made = memory;
  return CUDA_SUCCESS;
}

void ReleaseMemory(const Range& range) {
  if (range.kind == RangeKind::kManaged) AdviceMap::Get().Forget(range.base, range.base + range.size);
  if (!FromHeap(range)) return;
  SharedMemory::Get().Withdraw(range);
  if (rt::check::WantedKinds() == 0) return GiveBack(range);
  for (const Range& free : CheckedMemory::Get().Freed(range)) GiveBack(free);
}

CUresult RefuseFree(const char* function, uintptr_t address) {
  if (rt::check::WantedKinds() != 0) CheckedMemory::Get().ReportBadFree(function, address);
  return CUDA_ERROR_INVALID_VALUE;
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

}  // namespace ptx2cpu::driver
