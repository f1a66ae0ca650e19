// Allocation of device, host and managed memory; what a pointer points to; advice about managed memory.
#include <array>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

cudaError_t cudaMalloc(void** devPtr, size_t size) {
  if (devPtr == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  *devPtr = nullptr;
  if (size == 0) return cudaSuccess;
  return FromDriver(driver::cuMemAlloc_v2(AddressOut(devPtr), size));
}

// Nothing is freed by cudaFree(nullptr), but the context exists after it: programs begin with that.
cudaError_t cudaFree(void* devPtr) {
  if (const cudaError_t error = Begin()) return error;
  return FromDriver(driver::cuMemFree_v2(Address(devPtr)));
}

cudaError_t cudaMallocHost(void** ptr, size_t size) { return cudaHostAlloc(ptr, size, 0); }

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  if (pHost == nullptr || (flags & ~kHostAllocFlags) != 0) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  *pHost = nullptr;
  return size == 0 ? cudaSuccess : FromDriver(driver::cuMemHostAlloc(pHost, size, flags));
}

cudaError_t cudaFreeHost(void* ptr) {
  if (const cudaError_t error = Begin()) return error;
  return FromDriver(driver::cuMemFreeHost(ptr));
}

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  if (devPtr == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  *devPtr = nullptr;
  if (size == 0) return cudaSuccess;
  return FromDriver(driver::cuMemAllocManaged(AddressOut(devPtr), size, flags));
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
  return InContext(&driver::cuMemHostRegister_v2, ptr, size, flags);
}

cudaError_t cudaHostUnregister(void* ptr) { return InContext(&driver::cuMemHostUnregister, ptr); }

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  return InContext(&driver::cuMemHostGetDevicePointer_v2, AddressOut(pDevice), pHost, flags);
}

cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
  return InContext(&driver::cuMemHostGetFlags, pFlags, pHost);
}

cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  constexpr unsigned kElementBytes = 16;  // the widest access: rows that suit it suit all
  if (devPtr == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  *devPtr = nullptr;
  *pitch = 0;
  if (width == 0 || height == 0) return cudaSuccess;
  return FromDriver(driver::cuMemAllocPitch_v2(AddressOut(devPtr), pitch, width, height, kElementBytes));
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
  if (pitchedDevPtr == nullptr) return cudaErrorInvalidValue;
  void* pointer = nullptr;
  size_t pitch = 0;
  if (const cudaError_t error = cudaMallocPitch(&pointer, &pitch, extent.width, extent.height * extent.depth))
    return error;
  *pitchedDevPtr = {pointer, pitch, extent.width, extent.height};
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return InContext(&driver::cuMemGetInfo_v2, free, total);
}

namespace {

struct Pointed {
  CUmemorytype type = CUmemorytype{};
  CUdeviceptr device_pointer = 0;
  void* host_pointer = nullptr;
  unsigned managed = 0;
  int ordinal = cudaInvalidDeviceId;
};

cudaError_t Ask(const void* pointer, Pointed& pointed) {
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                        CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  std::array<void*, 5> data{&pointed.type, &pointed.device_pointer, &pointed.host_pointer, &pointed.managed,
                            &pointed.ordinal};
  return InContext(&driver::cuPointerGetAttributes, static_cast<unsigned>(attributes.size()),
                   attributes.data(), data.data(), Address(pointer));
}

template <typename Attributes>
cudaError_t GetPointer(Attributes* attributes, const void* pointer) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  Pointed pointed;
  if (const cudaError_t error = Ask(pointer, pointed)) return error;
  *attributes = {};
  attributes->device = pointed.ordinal;
  attributes->devicePointer = reinterpret_cast<void*>(pointed.device_pointer);
  attributes->hostPointer = pointed.host_pointer;
  if (pointed.managed != 0) {
    attributes->type = cudaMemoryTypeManaged;
  } else if (pointed.type == CU_MEMORYTYPE_HOST) {
    attributes->type = cudaMemoryTypeHost;
  } else if (pointed.type == CU_MEMORYTYPE_DEVICE) {
    attributes->type = cudaMemoryTypeDevice;
  } else {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->hostPointer = const_cast<void*>(pointer);
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes12* attributes, const void* ptr) {
  return GetPointer(attributes, ptr);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes13* attributes, const void* ptr) {
  return GetPointer(attributes, ptr);
}

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, int dstDevice, cudaStream_t stream) {
  return InContext(&driver::cuMemPrefetchAsync, Address(devPtr), count, dstDevice, stream);
}

cudaError_t cudaMemPrefetchAsync_v2(const void* devPtr, size_t count, cudaMemLocation location,
                                    unsigned int flags, cudaStream_t stream) {
  return InContext(&driver::cuMemPrefetchAsync_v2, Address(devPtr), count, *Twin<CUmemLocation>(&location),
                   flags, stream);
}

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
  return cudaMemPrefetchAsync_v2(devPtr, count, location, flags, stream);
}

cudaError_t cudaMemPrefetchBatchAsync(void** dptrs, size_t* sizes, size_t count,
                                      cudaMemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                      size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream) {
  return InContext(&driver::cuMemPrefetchBatchAsync, AddressOut(dptrs), sizes, count,
                   Twin<CUmemLocation>(prefetchLocs), prefetchLocIdxs, numPrefetchLocs, flags, stream);
}

cudaError_t cudaMemDiscardBatchAsync(void** dptrs, size_t* sizes, size_t count, unsigned long long flags,
                                     cudaStream_t stream) {
  return InContext(&driver::cuMemDiscardBatchAsync, AddressOut(dptrs), sizes, count, flags, stream);
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** dptrs, size_t* sizes, size_t count,
                                                cudaMemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                                size_t numPrefetchLocs, unsigned long long flags,
                                                cudaStream_t stream) {
  return InContext(&driver::cuMemDiscardAndPrefetchBatchAsync, AddressOut(dptrs), sizes, count,
                   Twin<CUmemLocation>(prefetchLocs), prefetchLocIdxs, numPrefetchLocs, flags, stream);
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice, int device) {
  return InContext(&driver::cuMemAdvise, Address(devPtr), count, static_cast<CUmem_advise>(advice), device);
}

cudaError_t cudaMemAdvise_v2(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
  return InContext(&driver::cuMemAdvise_v2, Address(devPtr), count, static_cast<CUmem_advise>(advice),
                   *Twin<CUmemLocation>(&location));
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                          cudaMemLocation location) {
  return cudaMemAdvise_v2(devPtr, count, advice, location);
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t dataSize, cudaMemRangeAttribute attribute,
                                     const void* devPtr, size_t count) {
  return InContext(&driver::cuMemRangeGetAttribute, data, dataSize,
                   static_cast<CUmem_range_attribute>(attribute), Address(devPtr), count);
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* dataSizes, cudaMemRangeAttribute* attributes,
                                      size_t numAttributes, const void* devPtr, size_t count) {
  return InContext(&driver::cuMemRangeGetAttributes, data, dataSizes, Twin<CUmem_range_attribute>(attributes),
                   numAttributes, Address(devPtr), count);
}

}  // namespace ptx2cpu::cudart
