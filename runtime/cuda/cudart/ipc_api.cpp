// Memory and events of other processes of this machine.
#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

namespace {

template <typename To, typename From>
To HandleAs(const From& handle) {
  static_assert(sizeof(To) == sizeof(From));
  return *Twin<const To>(&handle);
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr) {
  return InContext(&driver::cuIpcGetMemHandle, Twin<CUipcMemHandle>(handle), Address(devPtr));
}
cudaError_t cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle, unsigned int flags) {
  return InContext(&driver::cuIpcOpenMemHandle_v2, AddressOut(devPtr), HandleAs<CUipcMemHandle>(handle),
                   flags);
}
cudaError_t cudaIpcCloseMemHandle(void* devPtr) {
  return InContext(&driver::cuIpcCloseMemHandle, Address(devPtr));
}
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return InContext(&driver::cuIpcGetEventHandle, Twin<CUipcEventHandle>(handle), event);
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return InContext(&driver::cuIpcOpenEventHandle, event, HandleAs<CUipcEventHandle>(handle));
}

cudaError_t cudaMemPoolExportToShareableHandle(void* shareableHandle, cudaMemPool_t memPool,
                                               cudaMemAllocationHandleType handleType, unsigned int flags) {
  return InDriver(&driver::cuMemPoolExportToShareableHandle, shareableHandle, memPool,
                  static_cast<CUmemAllocationHandleType>(handleType), static_cast<unsigned long long>(flags));
}
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* memPool, void* shareableHandle,
                                                 cudaMemAllocationHandleType handleType, unsigned int flags) {
  return InDriver(&driver::cuMemPoolImportFromShareableHandle, memPool, shareableHandle,
                  static_cast<CUmemAllocationHandleType>(handleType), static_cast<unsigned long long>(flags));
}
cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* exportData, void* ptr) {
  return InDriver(&driver::cuMemPoolExportPointer, Twin<CUmemPoolPtrExportData>(exportData), Address(ptr));
}
cudaError_t cudaMemPoolImportPointer(void** ptr, cudaMemPool_t memPool,
                                     cudaMemPoolPtrExportData* exportData) {
  return InDriver(&driver::cuMemPoolImportPointer, AddressOut(ptr), memPool,
                  Twin<CUmemPoolPtrExportData>(exportData));
}

}  // namespace ptx2cpu::cudart
