// Stream-ordered allocation and memory pools.
#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
  return InContext(&driver::cuMemAllocAsync, AddressOut(devPtr), size, hStream);
}

cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream) {
  return InContext(&driver::cuMemAllocFromPoolAsync, AddressOut(ptr), size, memPool, stream);
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
  return InContext(&driver::cuMemFreeAsync, Address(devPtr), hStream);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) {
  return InDriver(&driver::cuMemPoolCreate, memPool, Twin<const CUmemPoolProps>(poolProps));
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) { return InDriver(&driver::cuMemPoolDestroy, memPool); }

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
  return InDriver(&driver::cuMemPoolTrimTo, memPool, minBytesToKeep);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  return InDriver(&driver::cuMemPoolSetAttribute, memPool, static_cast<CUmemPool_attribute>(attr), value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
  return InDriver(&driver::cuMemPoolGetAttribute, memPool, static_cast<CUmemPool_attribute>(attr), value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc* descList, size_t count) {
  return InDriver(&driver::cuMemPoolSetAccess, memPool, Twin<const CUmemAccessDesc>(descList), count);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t memPool,
                                 cudaMemLocation* location) {
  return InDriver(&driver::cuMemPoolGetAccess, Twin<CUmemAccess_flags>(flags), memPool,
                  Twin<CUmemLocation>(location));
}

cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* memPool, cudaMemLocation* location,
                                     cudaMemAllocationType type) {
  return InDriver(&driver::cuMemGetDefaultMemPool, memPool, Twin<CUmemLocation>(location),
                  static_cast<CUmemAllocationType>(type));
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t* memPool, cudaMemLocation* location, cudaMemAllocationType type) {
  return InDriver(&driver::cuMemGetMemPool, memPool, Twin<CUmemLocation>(location),
                  static_cast<CUmemAllocationType>(type));
}

cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t memPool) {
  return InDriver(&driver::cuMemSetMemPool, Twin<CUmemLocation>(location),
                  static_cast<CUmemAllocationType>(type), memPool);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
  return InDriver(&driver::cuDeviceGetDefaultMemPool, memPool, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
  return InDriver(&driver::cuDeviceSetMemPool, device, memPool);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
  return InDriver(&driver::cuDeviceGetMemPool, memPool, device);
}

cudaError_t cudaDeviceGraphMemTrim(int device) { return InDriver(&driver::cuDeviceGraphMemTrim, device); }

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) {
  return InDriver(&driver::cuDeviceGetGraphMemAttribute, device, static_cast<CUgraphMem_attribute>(attr),
                  value);
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) {
  return InDriver(&driver::cuDeviceSetGraphMemAttribute, device, static_cast<CUgraphMem_attribute>(attr),
                  value);
}

}  // namespace ptx2cpu::cudart
