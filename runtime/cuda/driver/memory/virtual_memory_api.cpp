// cuMemAddressReserve, cuMemCreate, cuMemMap and related functions.
#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/memory/virtual_memory_table.h"

namespace ptx2cpu::driver {

namespace {

// Where physical memory can be.
CUresult CheckLocation(const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return Devices::Get().Find(location.id) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult CheckCreate(size_t size, const CUmemAllocationProp& prop) {
  if (size == 0 || size % kVirtualGrain != 0 || prop.type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return CUDA_ERROR_INVALID_VALUE;
  if ((prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) != 0)
    return CUDA_ERROR_NOT_SUPPORTED;  // for sparse arrays
  if ((prop.requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
    return CUDA_ERROR_NOT_SUPPORTED;
  return CheckLocation(prop.location);
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  if (const CUresult error = CheckInitialised()) return error;
  if (ptr == nullptr || size == 0 || size % kVirtualGrain != 0 || flags != 0 ||
      (alignment & (alignment - 1)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return VirtualMemory::Get().Reserve(size, alignment, addr, ptr);
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  if (const CUresult error = CheckInitialised()) return error;
  return VirtualMemory::Get().FreeReservation(ptr, size);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  if (const CUresult error = CheckInitialised()) return error;
  if (handle == nullptr || prop == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = CheckCreate(size, *prop)) return error;
  return VirtualMemory::Get().Create(size, *prop, handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  if (const CUresult error = CheckInitialised()) return error;
  return VirtualMemory::Get().Release(handle);
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (const CUresult error = CheckInitialised()) return error;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (offset != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return VirtualMemory::Get().Map(ptr, size, handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  if (const CUresult error = CheckInitialised()) return error;
  Context* context = nullptr;
  if (CurrentContext(context) == CUDA_SUCCESS)
    context->streams().Synchronize();  // what still uses the mapping
  return VirtualMemory::Get().Unmap(ptr, size);
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (const CUresult error = CheckInitialised()) return error;
  if (desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    if (const CUresult error = CheckLocation(desc[i].location)) return error;
    const CUmemAccess_flags flags = desc[i].flags;
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return VirtualMemory::Get().SetAccess(ptr, size, desc, count);
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  if (const CUresult error = CheckInitialised()) return error;
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = CheckLocation(*location)) return error;
  return VirtualMemory::Get().GetAccess(ptr, *location, flags);
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  if (const CUresult error = CheckInitialised()) return error;
  const bool known =
      option == CU_MEM_ALLOC_GRANULARITY_MINIMUM || option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
  if (granularity == nullptr || prop == nullptr || !known) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kVirtualGrain;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  if (const CUresult error = CheckInitialised()) return error;
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return VirtualMemory::Get().Properties(handle, prop);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  if (const CUresult error = CheckInitialised()) return error;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return VirtualMemory::Get().Retain(reinterpret_cast<uintptr_t>(addr), handle);
}

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (const CUresult error = CheckInitialised()) return error;
  if (shareableHandle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  return VirtualMemory::Get().Export(handle, static_cast<int*>(shareableHandle));
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  if (const CUresult error = CheckInitialised()) return error;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  // The pointer holds the descriptor itself.
  return VirtualMemory::Get().Import(static_cast<int>(reinterpret_cast<intptr_t>(osHandle)), handle);
}

}  // namespace ptx2cpu::driver
