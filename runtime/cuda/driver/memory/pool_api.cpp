// Pools that programs make, and which pool a device uses.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "driver_api.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/memory/pool_table.h"

namespace ptx2cpu::driver {

namespace {

// What a CUmemLocation and an allocation type select among pools; devices only if `device` is set.
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
  if (p.handleTypes != CU_MEM_HANDLE_TYPE_NONE && p.handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_NOT_SUPPORTED;
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
  if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE && made->file() < 0) return CUDA_ERROR_OUT_OF_MEMORY;
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

}  // namespace ptx2cpu::driver
