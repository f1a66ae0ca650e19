#include "runtime/cuda/driver/memory/pool.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "runtime/abi/check.h"
#include "runtime/check/memory.h"
#include "runtime/check/wanted.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/context/stream_object.h"
#include "runtime/cuda/driver/memory/checked_memory.h"
#include "runtime/cuda/driver/memory/pool_table.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// Some pool may hold more than its threshold.
std::atomic<bool> trim_wanted{false};

size_t KeepOf(const MemoryPool& pool) { return std::max<size_t>(pool.release_threshold.load(), 64 << 20); }

}  // namespace

MemoryPool::MemoryPool(const CUmemPoolProps& properties)
    : properties_(properties),
      blocks_(MemoryLimits::Get(), properties.maxSize,
              properties.handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {}

MemoryPool::MemoryPool(const CUmemPoolProps& properties, Descriptor file)
    : properties_(properties),
      blocks_(MemoryLimits::Get(), 0),
      imports_(std::make_unique<PoolImports>(std::move(file))) {}

CUmemAccess_flags MemoryPool::Access(int device) const {
  const std::lock_guard lock(mutex_);
  const auto found = access_.find(device);
  if (found != access_.end()) return found->second;
  const bool own =
      properties_.location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties_.location.id == device;
  return own || managed() ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

void MemoryPool::SetAccess(int device, CUmemAccess_flags flags) {
  const std::lock_guard lock(mutex_);
  access_[device] = flags;
}

MemoryPool& CurrentPool(int device) { return PoolTable::Get().Current(device); }

namespace {

// Work that comes before in the stream may still use the memory.
void FillInTurn(StreamObject* stream, const Range& range) {
  const auto fill = [base = range.base, bytes = range.size] {
    rt::check::MarkUninitialised(reinterpret_cast<void*>(base), bytes);
  };
  if (stream == nullptr)
    fill();
  else
    stream->queue().Submit(rt::CallWork{fill});
}

}  // namespace

CUresult AllocateFromPool(MemoryPool& pool, size_t bytes, StreamObject* stream, CUdeviceptr* made) {
  if (pool.imports() != nullptr) return CUDA_ERROR_INVALID_VALUE;
  rt::Ticket wait;
  const rt::Stream* queue = stream == nullptr ? nullptr : &stream->queue();
  const PoolBlocks::Reuse reuse = {pool.opportunistic.load() != 0,
                                   stream != nullptr && pool.internal_dependencies.load() != 0};
  std::byte* block = pool.blocks().Allocate(bytes, queue, reuse, &wait);
  if (block == nullptr) {
    ReleaseIdlePools();
    block = pool.blocks().Allocate(bytes, queue, reuse, &wait);
  }
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (stream != nullptr && !wait.Done()) stream->queue().WaitFor(wait);
  pool.outstanding.fetch_add(1);
  Range range;
  range.base = reinterpret_cast<uintptr_t>(block), range.size = bytes, range.owner = &pool;
  range.kind = RangeKind::kPool;
  range.device =
      pool.properties().location.type == CU_MEM_LOCATION_TYPE_DEVICE ? pool.properties().location.id : 0;
  if (rt::check::WantedKinds() != 0) CheckedMemory::Get().Made(range);
  Allocations::Get().Insert(range);
  if ((rt::check::WantedKinds() & PTX2CPU_CHECKS_INIT) != 0 && !pool.managed()) FillInTurn(stream, range);
  *made = range.base;
  return CUDA_SUCCESS;
}

bool IsGraphMemory(const Range& range) {
  return range.kind == RangeKind::kPool && range.flags == kGraphMemory;
}

bool IsManaged(const Range& range) {
  if (range.kind == RangeKind::kPool) return static_cast<const MemoryPool*>(range.owner)->managed();
  return range.kind == RangeKind::kManaged;
}

void FreePoolMemory(const Range& range, rt::Ticket freed) {
  if (rt::check::WantedKinds() != 0) CheckedMemory::Get().FreedToPool(range);
  auto* pool = static_cast<MemoryPool*>(range.owner);
  auto* const block = reinterpret_cast<std::byte*>(range.base);
  if (pool->imports() != nullptr) {
    pool->imports()->Free(block, std::move(freed));
  } else {
    pool->blocks().Free(block, std::move(freed));
  }
  if (pool->blocks().sizes().reserved > KeepOf(*pool)) trim_wanted.store(true, std::memory_order_release);
  const bool last = pool->outstanding.fetch_sub(1) == 1;
  if (last && !IsGraphMemory(range)) PoolTable::Get().DropIfUnused(pool);
}

void TrimPoolsAfterWait() {
  if (!trim_wanted.load(std::memory_order_acquire)) return;
  trim_wanted.store(false, std::memory_order_relaxed);
  for (const auto& pool : PoolTable::Get().All()) {
    if (pool->blocks().sizes().reserved > KeepOf(*pool)) pool->blocks().Trim(pool->release_threshold.load());
  }
}

void ReleaseIdlePools() {
  for (const auto& pool : PoolTable::Get().All()) pool->blocks().Trim(0);
}

}  // namespace ptx2cpu::driver
