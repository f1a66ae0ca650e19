// Level 2: products and solutions with triangular matrices; conversions of packed ones.
#pragma once

#include "runtime/cuda/libraries/blas/level2.h"

namespace ptx2cpu::cublas {

// In one BLAS routine: a full matrix, a band of k diagonals, or a packed one.
template <libraries::Name kRoutine, typename T>
cublasStatus_t TriangularFull(const char* name, cublasHandle_t h, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, int64_t n, const T* a,
                              int64_t lda, T* x, int64_t incx) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(uplo), IsRight(trans), IsRight(diag), n >= 0, LeadingIs(lda, n), incx != 0))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, lda, incx)) return missing;
  return OnStream(h, name, [=] {
    Blas<kRoutine, T>(Letter(uplo), Letter<T>(trans), Letter(diag), Narrow(n), a, Narrow(lda), x,
                      Narrow(incx));
  });
}
template <libraries::Name kRoutine, typename T>
cublasStatus_t TriangularBand(const char* name, cublasHandle_t h, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, int64_t n, int64_t k,
                              const T* a, int64_t lda, T* x, int64_t incx) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(uplo), IsRight(trans), IsRight(diag), n >= 0, k >= 0, lda >= k + 1, incx != 0))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, k, lda, incx)) return missing;
  return OnStream(h, name, [=] {
    Blas<kRoutine, T>(Letter(uplo), Letter<T>(trans), Letter(diag), Narrow(n), Narrow(k), a, Narrow(lda), x,
                      Narrow(incx));
  });
}
template <libraries::Name kRoutine, typename T>
cublasStatus_t TriangularPacked(const char* name, cublasHandle_t h, cublasFillMode_t uplo,
                                cublasOperation_t trans, cublasDiagType_t diag, int64_t n, const T* ap, T* x,
                                int64_t incx) {
  if (const cublasStatus_t wrong = Check(h, IsRight(uplo), IsRight(trans), IsRight(diag), n >= 0, incx != 0))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, incx)) return missing;
  return OnStream(h, name, [=] {
    Blas<kRoutine, T>(Letter(uplo), Letter<T>(trans), Letter(diag), Narrow(n), ap, x, Narrow(incx));
  });
}

template <typename T, typename... Args>
cublasStatus_t Trmv(const char* name, cublasHandle_t h, Args... args) {
  return TriangularFull<"trmv", T>(name, h, args...);
}
template <typename T, typename... Args>
cublasStatus_t Trsv(const char* name, cublasHandle_t h, Args... args) {
  return TriangularFull<"trsv", T>(name, h, args...);
}
template <typename T, typename... Args>
cublasStatus_t Tbmv(const char* name, cublasHandle_t h, Args... args) {
  return TriangularBand<"tbmv", T>(name, h, args...);
}
template <typename T, typename... Args>
cublasStatus_t Tbsv(const char* name, cublasHandle_t h, Args... args) {
  return TriangularBand<"tbsv", T>(name, h, args...);
}
template <typename T, typename... Args>
cublasStatus_t Tpmv(const char* name, cublasHandle_t h, Args... args) {
  return TriangularPacked<"tpmv", T>(name, h, args...);
}
template <typename T, typename... Args>
cublasStatus_t Tpsv(const char* name, cublasHandle_t h, Args... args) {
  return TriangularPacked<"tpsv", T>(name, h, args...);
}

// body(packed index, full index) for each element of the triangle, column by column.
template <typename Body>
void ForTriangle(cublasFillMode_t uplo, int64_t n, int64_t lda, const Body& body) {
  int64_t packed = 0;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t begin = uplo == CUBLAS_FILL_MODE_LOWER ? j : 0,
                  end = uplo == CUBLAS_FILL_MODE_LOWER ? n : j + 1;
    for (int64_t i = begin; i < end; ++i) body(packed++, i + j * lda);
  }
}

template <typename T>
cublasStatus_t Tpttr(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* ap, T* a,
                     int64_t lda) {
  if (const cublasStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) return wrong;
  return OnStream(h, name,
                  [=] { ForTriangle(uplo, n, lda, [=](int64_t from, int64_t to) { a[to] = ap[from]; }); });
}
template <typename T>
cublasStatus_t Trttp(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* a,
                     int64_t lda, T* ap) {
  if (const cublasStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) return wrong;
  return OnStream(h, name,
                  [=] { ForTriangle(uplo, n, lda, [=](int64_t to, int64_t from) { ap[to] = a[from]; }); });
}

}  // namespace ptx2cpu::cublas
