// Handles, their modes, versions, names of status.
#include <cstdio>

#include "runtime/cuda/libraries/blas/call.h"
#include "runtime/cuda/libraries/blas/status.h"
#include "runtime/cuda/libraries/core/handle.h"

namespace ptx2cpu::cublas {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return libraries::CreateHandle(handle, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_NOT_INITIALIZED);
}

// Work that was queued reads nothing of the handle; the documentation has it wait for the device.
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  libraries::Synchronize(handle->stream);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const Release release = ThisRelease();
  *version = release.major * 10000 + release.minor * 100 + release.patch;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUBLAS_STATUS_INVALID_VALUE;
  const Release release = ThisRelease();
  *value = type == MAJOR_VERSION ? release.major : type == MINOR_VERSION ? release.minor : release.patch;
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion() {
  const Release release = ThisRelease();
  return static_cast<size_t>(release.major * 1000);
}

const char* cublasGetStatusName(cublasStatus_t status) { return StatusName(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return StatusText(status); }

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return libraries::Write(Check(handle, true), handle, &cublasContext::stream, stream);
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return libraries::Read(Check(handle, stream != nullptr), handle, &cublasContext::stream, stream);
}

// The functions take what they need from the host; the program's memory stays unused.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  constexpr uintptr_t kAlignment = 16;
  return Check(handle, reinterpret_cast<uintptr_t>(workspace) % kAlignment == 0);
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return libraries::Write(
      Check(handle, mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE), handle,
      &cublasContext::pointer_mode, mode);
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return libraries::Read(Check(handle, mode != nullptr), handle, &cublasContext::pointer_mode, mode);
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return libraries::Write(Check(handle, mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED),
                          handle, &cublasContext::atomics_mode, mode);
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return libraries::Read(Check(handle, mode != nullptr), handle, &cublasContext::atomics_mode, mode);
}
// Results are at least as accurate as each mode asks for.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  constexpr int kModes = CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_FP32_EMULATED_BF16X9_MATH |
                         CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH |
                         CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  return libraries::Write(Check(handle, (mode & ~kModes) == 0), handle, &cublasContext::math_mode, mode);
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return libraries::Read(Check(handle, mode != nullptr), handle, &cublasContext::math_mode, mode);
}
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return libraries::Write(Check(handle, count >= 0), handle, &cublasContext::sm_count_target, count);
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return libraries::Read(Check(handle, count != nullptr), handle, &cublasContext::sm_count_target, count);
}

void cublasXerbla(const char* name, int info) {
  std::fprintf(stderr, "ptx2cpu: parameter %d of %s is wrong\n", info, name);
}

}  // namespace ptx2cpu::cublas
