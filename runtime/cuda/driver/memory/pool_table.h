// All existing pools, and the pool that each device uses.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/driver/memory/pool.h"

namespace ptx2cpu::driver {

// All pools, also those whose handle has ended while memory of theirs is in use.
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

  // The handle ends now, the memory when it is no longer used.
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
      cuda::CUmemPoolProps properties = {};
      properties.allocType = cuda::CU_MEM_ALLOCATION_TYPE_PINNED;
      properties.location = {cuda::CU_MEM_LOCATION_TYPE_DEVICE, device};
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

}  // namespace ptx2cpu::driver
