#include "runtime/cuda/driver/memory/pool.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/core/device.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

namespace {

// All pools, also those whose handle is gone while memory of theirs is in use.
class PoolTable {
 public:
  static PoolTable& Get() {
    static auto* table = new PoolTable;
    return *table;
  }

  void Add(std::shared_ptr<MemoryPool> pool) {
    const std::lock_guard lock(mutex_);
    Handles::Get().Add(pool.get(), MemoryPool::kKind);
    pools_.emplace(pool.get(), std::move(pool));
  }

  MemoryPool& Default(int device) {
    const std::lock_guard lock(mutex_);
    return *DefaultLocked(device);
  }

  MemoryPool& Current(int device) {
    const std::lock_guard lock(mutex_);
    MemoryPool* current = devices_[device].current;
    return current != nullptr ? *current : *DefaultLocked(device);
  }

  void SetCurrent(int device, MemoryPool* pool) {
    const std::lock_guard lock(mutex_);
    devices_[device].current = pool;
  }

  // The handle ends; the memory when nobody uses it.
  bool Destroy(MemoryPool* pool) {
    const std::lock_guard lock(mutex_);
    for (const auto& [ordinal, device] : devices_) {
      if (device.standard == pool) return false;
    }
    if (!Handles::Get().Remove(pool, MemoryPool::kKind)) return false;
    for (auto& [ordinal, device] : devices_) {
      if (device.current == pool) device.current = nullptr;
    }
    if (pool->outstanding.load() == 0) pools_.erase(pool);
    return true;
  }

  void DropIfUnused(MemoryPool* pool) {
    const std::lock_guard lock(mutex_);
    if (pool->outstanding.load() == 0 && !Handles::Get().Has(pool, MemoryPool::kKind)) pools_.erase(pool);
  }

  std::vector<std::shared_ptr<MemoryPool>> All() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<MemoryPool>> all;
    for (const auto& [raw, pool] : pools_) all.push_back(pool);
    return all;
  }

 private:
  struct OfDevice {
    MemoryPool* standard = nullptr;
    MemoryPool* current = nullptr;  // null: the standard one
  };

  MemoryPool* DefaultLocked(int device) {
    MemoryPool*& standard = devices_[device].standard;
    if (standard == nullptr) {
      CUmemPoolProps properties = {};
      properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
      properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
      auto pool = std::make_shared<MemoryPool>(properties);
      standard = pool.get();
      Handles::Get().Add(standard, MemoryPool::kKind);
      pools_.emplace(standard, std::move(pool));
    }
    return standard;
  }

  std::mutex mutex_;
  std::unordered_map<MemoryPool*, std::shared_ptr<MemoryPool>> pools_;
  std::unordered_map<int, OfDevice> devices_;
};

// Some pool may hold more than its threshold.
std::atomic<bool> trim_wanted{false};

size_t KeepOf(const MemoryPool& pool) { return std::max<size_t>(pool.release_threshold.load(), 64 << 20); }

}  // namespace

MemoryPool::MemoryPool(const CUmemPoolProps& properties)
    : properties_(properties), blocks_(MemoryLimits::Get(), properties.maxSize) {}

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

CUresult AllocateFromPool(MemoryPool& pool, size_t bytes, StreamObject* stream, CUdeviceptr* made) {
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
  Allocations::Get().Insert(range);
  *made = range.base;
  return CUDA_SUCCESS;
}

bool IsManaged(const Range& range) {
  if (range.kind == RangeKind::kPool) return static_cast<const MemoryPool*>(range.owner)->managed();
  return range.kind == RangeKind::kManaged;
}

void FreePoolMemory(const Range& range, rt::Ticket freed) {
  auto* pool = static_cast<MemoryPool*>(range.owner);
  pool->blocks().Free(reinterpret_cast<std::byte*>(range.base), std::move(freed));
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

namespace {

// What a CUmemLocation and an allocation type say about pools; devices only where `device` is set.
CUresult PlaceOfPool(const CUmemLocation* location, CUmemAllocationType type, int* device) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED)
    return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_NOT_SUPPORTED;
  Device* found = nullptr;
  if (const CUresult error = FindDevice(location->id, found)) return error;
  *device = found->ordinal();
  return CUDA_SUCCESS;
}

CUresult CheckProperties(const CUmemPoolProps& p) {
  for (const unsigned char reserved : p.reserved) {
    if (reserved != 0) return CUDA_ERROR_INVALID_VALUE;
  }
  if (p.allocType != CU_MEM_ALLOCATION_TYPE_PINNED && p.allocType != CU_MEM_ALLOCATION_TYPE_MANAGED)
    return CUDA_ERROR_INVALID_VALUE;
  if (p.handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;  // no sharing with other processes
  const bool managed = p.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (managed && p.maxSize != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((p.usage & CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  switch (p.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return Devices::Get().Find(p.location.id) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return p.location.id >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return managed && p.location.type == CU_MEM_LOCATION_TYPE_INVALID ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  if (const CUresult error = CheckInitialised()) return error;
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = CheckProperties(*poolProps)) return error;
  auto made = std::make_shared<MemoryPool>(*poolProps);
  *pool = HandleOf(made.get());
  PoolTable::Get().Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* found = From<MemoryPool>(pool);
  if (found == nullptr || !PoolTable::Get().Destroy(found)) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* found = From<MemoryPool>(pool);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  found->blocks().Trim(minBytesToKeep);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool, CUmemLocation* location) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* found = From<MemoryPool>(memPool);
  if (found == nullptr || flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || Devices::Get().Find(location->id) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = found->Access(location->id);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* found = From<MemoryPool>(pool);
  if (found == nullptr || map == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const CUmemLocation& location = map[i].location;
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (Devices::Get().Find(location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
    if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return CUDA_ERROR_INVALID_VALUE;
    const CUmemLocation& home = found->properties().location;
    const bool own = home.type == CU_MEM_LOCATION_TYPE_DEVICE && home.id == location.id;
    if (own && map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (size_t i = 0; i < count; ++i) found->SetAccess(map[i].location.id, map[i].flags);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* found = From<MemoryPool>(pool);
  if (found == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const PoolBlocks::Sizes sizes = found->blocks().sizes();
  auto* number = static_cast<int*>(value);
  auto* bytes = static_cast<cuuint64_t*>(value);
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return *number = found->follow_events, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      return *number = found->opportunistic, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return *number = found->internal_dependencies, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return *bytes = found->release_threshold, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return *bytes = sizes.reserved, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return *bytes = sizes.reserved_high, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return *bytes = sizes.used, CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return *bytes = sizes.used_high, CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  if (const CUresult error = CheckInitialised()) return error;
  MemoryPool* found = From<MemoryPool>(pool);
  if (found == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* number = static_cast<const int*>(value);
  const auto* bytes = static_cast<const cuuint64_t*>(value);
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      found->follow_events = *number;
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      found->opportunistic = *number;
      break;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      found->internal_dependencies = *number;
      break;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      found->release_threshold = *bytes;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (*bytes != 0) return CUDA_ERROR_INVALID_VALUE;
      found->blocks().ResetReservedHigh();
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (*bytes != 0) return CUDA_ERROR_INVALID_VALUE;
      found->blocks().ResetUsedHigh();
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (pool_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool_out = HandleOf(&PoolTable::Get().Default(device->ordinal()));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  Device* device = nullptr;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = HandleOf(&PoolTable::Get().Current(device->ordinal()));
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  Device* device = nullptr;
  if (const CUresult error = FindDevice(dev, device)) return error;
  MemoryPool* found = From<MemoryPool>(pool);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUmemLocation& home = found->properties().location;
  if (found->managed() || home.type != CU_MEM_LOCATION_TYPE_DEVICE || home.id != device->ordinal())
    return CUDA_ERROR_INVALID_VALUE;
  PoolTable::Get().SetCurrent(device->ordinal(), found);
  return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location, CUmemAllocationType type) {
  if (const CUresult error = CheckInitialised()) return error;
  int device = 0;
  if (const CUresult error = PlaceOfPool(location, type, &device)) return error;
  return cuDeviceGetDefaultMemPool(pool_out, device);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (const CUresult error = CheckInitialised()) return error;
  int device = 0;
  if (const CUresult error = PlaceOfPool(location, type, &device)) return error;
  return cuDeviceGetMemPool(pool, device);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  if (const CUresult error = CheckInitialised()) return error;
  int device = 0;
  if (const CUresult error = PlaceOfPool(location, type, &device)) return error;
  return cuDeviceSetMemPool(device, pool);
}

// Sharing of pools with other processes: none can be made that would allow it.
CUresult cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (const CUresult error = CheckInitialised()) return error;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  if (const CUresult error = CheckInitialised()) return error;
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace ptx2cpu::driver
