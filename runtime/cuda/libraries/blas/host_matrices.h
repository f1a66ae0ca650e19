// cublasXt: level 3 as functions of a handle that has no stream. Matrices may be anywhere, since devices use
// the host's memory; scalars are on the host; the result is there when a call returns.
#pragma once

#include "runtime/cuda/libraries/blas/level3.h"
#include "runtime/cuda/libraries/blas/triangle_update.h"

// What a cublasXtHandle_t points to. One device computes, on all threads of the pool, whichever are selected.
struct ptx2cpu::cuda::cublasXtContext {
  cublasContext blas = {};
  int block = 1024;
  cublasXtPinnedMemMode_t pinning = CUBLASXT_PINNING_DISABLED;
};

namespace ptx2cpu::cublas {

// call(handle), a function of cuBLAS, and the wait for it.
template <typename Call>
cublasStatus_t Completed(cublasXtHandle_t handle, const Call& call) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (const cublasStatus_t status = call(&handle->blas)) return status;
  return FromDriver(libraries::Synchronize(handle->blas.stream));
}

template <typename T, typename... Args>
cublasStatus_t XtGemm(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Gemm<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtSymm(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Symm<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtHemm(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Hemm<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtSyrk(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Syrk<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtHerk(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Herk<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtSyr2k(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Syr2k<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtHer2k(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Her2k<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtSyrkx(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Syrkx<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtHerkx(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Herkx<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtTrmm(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Trmm<T>(name, blas, args...); });
}
template <typename T, typename... Args>
cublasStatus_t XtTrsm(const char* name, cublasXtHandle_t handle, Args... args) {
  return Completed(handle, [&](cublasHandle_t blas) { return Trsm<T>(name, blas, args...); });
}

}  // namespace ptx2cpu::cublas
