// Handles, and the library's version and properties.
#include "cublaslt_api.h"
#include "runtime/cuda/libraries/blas/status.h"
#include "runtime/cuda/libraries/core/handle.h"

// A cublasHandle_t serves as a cublasLtHandle_t too, so nothing is read from one.
struct ptx2cpu::cuda::cublasLtContext {};

namespace ptx2cpu::cublaslt {

using namespace cuda;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return libraries::CreateHandle(handle, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_NOT_INITIALIZED);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return libraries::DestroyHandle(handle, CUBLAS_STATUS_INVALID_VALUE);
}
const char* cublasLtGetStatusName(cublasStatus_t status) { return cublas::StatusName(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return cublas::StatusText(status); }
size_t cublasLtGetVersion() {
  const cublas::Release release = cublas::ThisRelease();
  return static_cast<size_t>(release.major * 10000 + release.minor * 100 + release.patch);
}
size_t cublasLtGetCudartVersion() { return static_cast<size_t>(cublas::ThisRelease().major * 1000); }
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  const cublas::Release release = cublas::ThisRelease();
  *value = type == MAJOR_VERSION ? release.major : type == MINOR_VERSION ? release.minor : release.patch;
  return CUBLAS_STATUS_SUCCESS;
}
// There are no heuristics to remember.
cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = 0;
  return CUBLAS_STATUS_SUCCESS;
}
// Returns the mask before: no instruction is ever disabled.
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned) { return 0; }

}  // namespace ptx2cpu::cublaslt
