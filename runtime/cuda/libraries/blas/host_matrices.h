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

// The packed triangle of a symmetric matrix becomes a matrix, which is multiplied.
template <typename T>
cublasStatus_t XtSpmm(const char* name, cublasXtHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                      size_t m, size_t n, const T* alpha, const T* packed, const T* b, size_t ldb,
                      const T* beta, T* c, size_t ldc) {
  const size_t size = side == CUBLAS_SIDE_LEFT ? m : n;
  std::vector<T> matrix(size * size);
  for (size_t column = 0; packed != nullptr && column < size; ++column) {
    const size_t begin = uplo == CUBLAS_FILL_MODE_UPPER ? 0 : column;
    const size_t end = uplo == CUBLAS_FILL_MODE_UPPER ? column + 1 : size;
    std::copy_n(packed, end - begin, &matrix[column * size + begin]);
    packed += end - begin;
  }
  return XtSymm<T>(name, handle, side, uplo, m, n, alpha, matrix.data(), std::max<size_t>(1, size), b, ldb,
                   beta, c, ldc);
}

}  // namespace ptx2cpu::cublas
