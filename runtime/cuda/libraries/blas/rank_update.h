// Level 2: updates of one triangle by one or two vectors, full and packed.
#pragma once

#include "runtime/cuda/libraries/blas/level2.h"

namespace ptx2cpu::cublas {

template <typename T>
cublasStatus_t Hpr(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const Real<T>* alpha,
                   const T* x, int64_t incx, T* ap) {
  if (const cublasStatus_t wrong = Check(h, IsRight(uplo), n >= 0, incx != 0, alpha != nullptr)) return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, incx)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    BlasHermitian<"spr", "hpr", T>(Letter(uplo), Narrow(n), al(), x, Narrow(incx), ap);
  });
}

template <typename T>
cublasStatus_t Hpr2(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                    const T* x, int64_t incx, const T* y, int64_t incy, T* ap) {
  if (const cublasStatus_t wrong = Check(h, IsRight(uplo), n >= 0, incx != 0, incy != 0, alpha != nullptr))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    BlasHermitian<"spr2", "hpr2", T>(Letter(uplo), Narrow(n), al(), x, Narrow(incx), y, Narrow(incy), ap);
  });
}

template <libraries::Name kRoutine, typename T, typename Alpha>
cublasStatus_t RankOne(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n,
                       const Alpha* alpha, const T* x, int64_t incx, T* a, int64_t lda) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(uplo), n >= 0, incx != 0, LeadingIs(lda, n), alpha != nullptr))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, incx, lda)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    Blas<kRoutine, T>(Letter(uplo), Narrow(n), al(), x, Narrow(incx), a, Narrow(lda));
  });
}
template <typename T>
cublasStatus_t Syr(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                   const T* x, int64_t incx, T* a, int64_t lda) {
  return RankOne<"syr">(name, h, uplo, n, alpha, x, incx, a, lda);
}
template <typename T>
cublasStatus_t Her(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const Real<T>* alpha,
                   const T* x, int64_t incx, T* a, int64_t lda) {
  return RankOne<"her">(name, h, uplo, n, alpha, x, incx, a, lda);
}

// BLAS has no update of a complex symmetric matrix by two vectors.
template <typename T>
void UpdateTriangle(cublasFillMode_t uplo, int64_t n, T alpha, Vector<const T> x, Vector<const T> y, T* a,
                    int64_t lda) {
  for (int64_t j = 0; j < n; ++j) {
    const int64_t begin = uplo == CUBLAS_FILL_MODE_LOWER ? j : 0,
                  end = uplo == CUBLAS_FILL_MODE_LOWER ? n : j + 1;
    const T by_x = alpha * y[j], by_y = alpha * x[j];
    for (int64_t i = begin; i < end; ++i) a[i + j * lda] += x[i] * by_x + y[i] * by_y;
  }
}

template <typename T>
cublasStatus_t Syr2(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                    const T* x, int64_t incx, const T* y, int64_t incy, T* a, int64_t lda) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(uplo), n >= 0, incx != 0, incy != 0, LeadingIs(lda, n), alpha != nullptr))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, incx, incy, lda)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    if constexpr (kIsComplex<T>) {
      UpdateTriangle(uplo, n, al(), Vector(x, n, incx), Vector(y, n, incy), a, lda);
    } else {
      Blas<"syr2", T>(Letter(uplo), Narrow(n), al(), x, Narrow(incx), y, Narrow(incy), a, Narrow(lda));
    }
  });
}

template <typename T>
cublasStatus_t Her2(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                    const T* x, int64_t incx, const T* y, int64_t incy, T* a, int64_t lda) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(uplo), n >= 0, incx != 0, incy != 0, LeadingIs(lda, n), alpha != nullptr))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, incx, incy, lda)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    Blas<"her2", T>(Letter(uplo), Narrow(n), al(), x, Narrow(incx), y, Narrow(incy), a, Narrow(lda));
  });
}

}  // namespace ptx2cpu::cublas
