// Handles of cublasXt and their modes.
#include "runtime/cuda/libraries/blas/host_matrices.h"
#include "runtime/cuda/libraries/core/handle.h"

namespace ptx2cpu::cublas {

namespace {

cublasStatus_t CheckHandle(cublasXtHandle_t handle, bool right) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return right ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace

cublasStatus_t cublasXtCreate(cublasXtHandle_t* handle) {
  return libraries::CreateHandle(handle, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_NOT_INITIALIZED);
}
cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle) {
  return libraries::DestroyHandle(handle, CUBLAS_STATUS_INVALID_VALUE);
}

// All devices are the processors of this machine.
cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int nbDevices, int* deviceId) {
  return CheckHandle(handle, nbDevices > 0 && deviceId != nullptr);
}
cublasStatus_t cublasXtGetNumBoards(int nbDevices, int* deviceId, int* nbBoards) {
  if (nbDevices < 1 || deviceId == nullptr || nbBoards == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *nbBoards = nbDevices;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasXtMaxBoards(int* nbGpuBoards) {
  if (nbGpuBoards == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *nbGpuBoards = 32;
  return CUBLAS_STATUS_SUCCESS;
}

// Results do not depend on how products are cut.
cublasStatus_t cublasXtSetBlockDim(cublasXtHandle_t handle, int blockDim) {
  if (const cublasStatus_t wrong = CheckHandle(handle, blockDim > 0)) return wrong;
  handle->block = blockDim;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasXtGetBlockDim(cublasXtHandle_t handle, int* blockDim) {
  if (const cublasStatus_t wrong = CheckHandle(handle, blockDim != nullptr)) return wrong;
  *blockDim = handle->block;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode) {
  const bool right = mode == CUBLASXT_PINNING_DISABLED || mode == CUBLASXT_PINNING_ENABLED;
  if (const cublasStatus_t wrong = CheckHandle(handle, right)) return wrong;
  handle->pinning = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t* mode) {
  if (const cublasStatus_t wrong = CheckHandle(handle, mode != nullptr)) return wrong;
  *mode = handle->pinning;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cublas
