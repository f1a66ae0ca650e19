// The functions of level 2: a matrix and vectors. Types and sizes come from the table (cublas.api).
#pragma once

#include "runtime/cuda/libraries/blas/options.h"
#include "runtime/cuda/libraries/blas/vectors.h"

namespace ptx2cpu::cublas {

using libraries::Blas;

inline int Narrow(int64_t size) { return static_cast<int>(size); }

// Where BLAS wants a part of a vector of n elements to begin.
template <typename T>
T* PartOf(T* x, int64_t n, int64_t inc, int64_t begin, int64_t end) {
  return inc >= 0 ? x + begin * inc : x + (n - end) * -inc;
}

constexpr int64_t kMatrixGrain = 32768;  // elements of a matrix that one thread reads in some microseconds

// y = alpha op(A) x + beta y, A m by n; each part of y on its own.
template <typename T>
void MultiplyVector(cublasOperation_t op, int64_t m, int64_t n, T alpha, const T* a, int64_t lda, const T* x,
                    int64_t incx, T beta, T* y, int64_t incy) {
  const bool transposes = Transposes(op);
  const int64_t rows = transposes ? n : m, inner = transposes ? m : n;
  const char trans = Letter<T>(op);
  const int64_t grain = std::max<int64_t>(16, kMatrixGrain / std::max<int64_t>(1, inner));
  libraries::ForRanges(rows, grain, [&](int64_t begin, int64_t end) {
    const T* part = transposes ? a + begin * lda : a + begin;
    const int pm = Narrow(transposes ? m : end - begin), pn = Narrow(transposes ? end - begin : n);
    Blas<"gemv", T>(trans, pm, pn, alpha, part, Narrow(lda), x, Narrow(incx), beta,
                    PartOf(y, rows, incy, begin, end), Narrow(incy));
  });
}

template <typename T>
cublasStatus_t Gemv(const char* name, cublasHandle_t h, cublasOperation_t trans, int64_t m, int64_t n,
                    const T* alpha, const T* a, int64_t lda, const T* x, int64_t incx, const T* beta, T* y,
                    int64_t incy) {
  if (h != nullptr && (m == 0 || n == 0)) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t wrong =
          Check(h, IsRight(trans) || trans == CUBLAS_OP_CONJG, m >= 0, n >= 0, LeadingIs(lda, m), incx != 0,
                incy != 0, alpha != nullptr, beta != nullptr))
    return wrong;
  if (const cublasStatus_t missing = Ready(name, m, n, lda, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    MultiplyVector(trans, m, n, al(), a, lda, x, incx, be(), y, incy);
  });
}

template <typename T>
cublasStatus_t Gbmv(const char* name, cublasHandle_t h, cublasOperation_t trans, int64_t m, int64_t n,
                    int64_t kl, int64_t ku, const T* alpha, const T* a, int64_t lda, const T* x, int64_t incx,
                    const T* beta, T* y, int64_t incy) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(trans), m >= 0, n >= 0, kl >= 0, ku >= 0, lda >= kl + ku + 1, incx != 0, incy != 0,
                alpha != nullptr, beta != nullptr))
    return wrong;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, kl, ku, lda, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    Blas<"gbmv", T>(Letter<T>(trans), Narrow(m), Narrow(n), Narrow(kl), Narrow(ku), al(), a, Narrow(lda), x,
                    Narrow(incx), be(), y, Narrow(incy));
  });
}

template <bool kConjugate, typename T>
cublasStatus_t GerCall(const char* name, cublasHandle_t h, int64_t m, int64_t n, const T* alpha, const T* x,
                       int64_t incx, const T* y, int64_t incy, T* a, int64_t lda) {
  if (const cublasStatus_t wrong =
          Check(h, m >= 0, n >= 0, incx != 0, incy != 0, LeadingIs(lda, m), alpha != nullptr))
    return wrong;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, lda, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    libraries::ForRanges(n, std::max<int64_t>(1, kMatrixGrain / m), [&](int64_t begin, int64_t end) {
      const T* part = PartOf(y, n, incy, begin, end);
      const int columns = Narrow(end - begin);
      if constexpr (!kIsComplex<T>) {
        Blas<"ger", T>(Narrow(m), columns, al(), x, Narrow(incx), part, Narrow(incy), a + begin * lda,
                       Narrow(lda));
      } else if constexpr (kConjugate) {
        Blas<"gerc", T>(Narrow(m), columns, al(), x, Narrow(incx), part, Narrow(incy), a + begin * lda,
                        Narrow(lda));
      } else {
        Blas<"geru", T>(Narrow(m), columns, al(), x, Narrow(incx), part, Narrow(incy), a + begin * lda,
                        Narrow(lda));
      }
    });
  });
}
template <typename T>
cublasStatus_t Geru(const char* name, cublasHandle_t h, int64_t m, int64_t n, const T* alpha, const T* x,
                    int64_t incx, const T* y, int64_t incy, T* a, int64_t lda) {
  return GerCall<false>(name, h, m, n, alpha, x, incx, y, incy, a, lda);
}
template <typename T>
cublasStatus_t Gerc(const char* name, cublasHandle_t h, int64_t m, int64_t n, const T* alpha, const T* x,
                    int64_t incx, const T* y, int64_t incy, T* a, int64_t lda) {
  return GerCall<true>(name, h, m, n, alpha, x, incx, y, incy, a, lda);
}

// The routine of a symmetric real or a hermitian complex matrix.
template <libraries::Name kSymmetric, libraries::Name kHermitian, typename T, typename... Args>
void BlasHermitian(const Args&... args) {
  if constexpr (kIsComplex<T>) {
    Blas<kHermitian, T>(args...);
  } else {
    Blas<kSymmetric, T>(args...);
  }
}

template <typename T>
cublasStatus_t Hbmv(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, int64_t k,
                    const T* alpha, const T* a, int64_t lda, const T* x, int64_t incx, const T* beta, T* y,
                    int64_t incy) {
  if (const cublasStatus_t wrong = Check(h, IsRight(uplo), n >= 0, k >= 0, lda >= k + 1, incx != 0, incy != 0,
                                         alpha != nullptr, beta != nullptr))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, k, lda, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    BlasHermitian<"sbmv", "hbmv", T>(Letter(uplo), Narrow(n), Narrow(k), al(), a, Narrow(lda), x,
                                     Narrow(incx), be(), y, Narrow(incy));
  });
}

template <typename T>
cublasStatus_t Hpmv(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                    const T* ap, const T* x, int64_t incx, const T* beta, T* y, int64_t incy) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(uplo), n >= 0, incx != 0, incy != 0, alpha != nullptr, beta != nullptr))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    BlasHermitian<"spmv", "hpmv", T>(Letter(uplo), Narrow(n), al(), ap, x, Narrow(incx), be(), y,
                                     Narrow(incy));
  });
}

// Symmetric and hermitian products with a vector: the last template argument chooses for complex matrices.
template <bool kHermitian, typename T>
cublasStatus_t SymvCall(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                        const T* a, int64_t lda, const T* x, int64_t incx, const T* beta, T* y,
                        int64_t incy) {
  if (const cublasStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n), incx != 0, incy != 0,
                                         alpha != nullptr, beta != nullptr))
    return wrong;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, n, lda, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    if constexpr (kHermitian) {
      Blas<"hemv", T>(Letter(uplo), Narrow(n), al(), a, Narrow(lda), x, Narrow(incx), be(), y, Narrow(incy));
    } else {
      Blas<"symv", T>(Letter(uplo), Narrow(n), al(), a, Narrow(lda), x, Narrow(incx), be(), y, Narrow(incy));
    }
  });
}
template <typename T>
cublasStatus_t Symv(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                    const T* a, int64_t lda, const T* x, int64_t incx, const T* beta, T* y, int64_t incy) {
  return SymvCall<false>(name, h, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
}
template <typename T>
cublasStatus_t Hemv(const char* name, cublasHandle_t h, cublasFillMode_t uplo, int64_t n, const T* alpha,
                    const T* a, int64_t lda, const T* x, int64_t incx, const T* beta, T* y, int64_t incy) {
  return SymvCall<true>(name, h, uplo, n, alpha, a, lda, x, incx, beta, y, incy);
}

}  // namespace ptx2cpu::cublas
