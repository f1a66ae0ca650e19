// The handle of the functions without one, their status, and memory as they name it.
#include "runtime/cuda/libraries/blas/legacy.h"
#include "runtime/cuda/libraries/core/device_memory.h"

namespace ptx2cpu::cublas {

// What returns its status keeps none for cublasGetError: that is of the functions that return none.
cublasStatus_t cublasInit() {
  if (libraries::Begin() != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  MakeLegacyHandle();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasShutdown() {
  if (LegacyHandle() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  libraries::Synchronize(LegacyHandle()->stream);
  DropLegacyHandle();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetError() { return TakeLegacyStatus(); }
cublasStatus_t cublasGetVersion(int* version) { return cublasGetVersion_v2(LegacyHandle(), version); }
cublasStatus_t cublasSetKernelStream(cudaStream_t stream) {
  return cublasSetStream_v2(LegacyHandle(), stream);
}

cublasStatus_t cublasAlloc(int n, int elemSize, void** devicePtr) {
  if (LegacyHandle() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0 || elemSize <= 0 || devicePtr == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const CUresult error =
      libraries::Allocate(devicePtr, static_cast<size_t>(n) * static_cast<size_t>(elemSize));
  return error == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : FromDriver(error);
}
cublasStatus_t cublasFree(void* devicePtr) {
  if (LegacyHandle() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const CUresult error = libraries::Free(devicePtr);
  return error == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}

}  // namespace ptx2cpu::cublas
