// The functions of level 3: matrices. Types and sizes come from the table (cublas.api).
#pragma once

#include "runtime/cuda/libraries/blas/gemm.h"
#include "runtime/cuda/libraries/blas/mixed_gemm.h"

namespace ptx2cpu::cublas {

// The checks of every product. A and B are read as they are stored.
template <typename... Pointers>
cublasStatus_t CheckProduct(cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b, int64_t m,
                            int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                            Pointers... scalars) {
  if (const cublasStatus_t wrong = Check(h, IsRight(op_a), IsRight(op_b), m >= 0, n >= 0, k >= 0))
    return wrong;
  return Check(h, LeadingIs(lda, Transposes(op_a) ? k : m), LeadingIs(ldb, Transposes(op_b) ? n : k),
               LeadingIs(ldc, m), (m == 0 || n == 0 || scalars != nullptr)...);
}

template <typename T>
cublasStatus_t Gemm(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                    int64_t m, int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda, const T* b,
                    int64_t ldb, const T* beta, T* c, int64_t ldc) {
  if (const cublasStatus_t wrong = CheckProduct(h, op_a, op_b, m, n, k, lda, ldb, ldc, alpha, beta))
    return wrong;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, k, lda, ldb, ldc)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    if constexpr (std::is_same_v<T, __half>) {
      MultiplyMixed({op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc, kHalfProduct}, ToFloat(al()),
                    ToFloat(be()));
    } else {
      Multiply<T>({op_a, op_b, m, n, k, al(), a, lda, b, ldb, be(), c, ldc});
    }
  });
}

// symm, hemm: parts of C that the symmetric matrix crosses whole.
template <libraries::Name kRoutine, typename T>
cublasStatus_t SymmCall(const char* name, cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                        int64_t m, int64_t n, const T* alpha, const T* a, int64_t lda, const T* b,
                        int64_t ldb, const T* beta, T* c, int64_t ldc) {
  const bool left = side == CUBLAS_SIDE_LEFT;
  if (const cublasStatus_t wrong =
          Check(h, IsRight(side), IsRight(uplo), m >= 0, n >= 0, LeadingIs(lda, left ? m : n),
                LeadingIs(ldb, m), LeadingIs(ldc, m), alpha != nullptr, beta != nullptr))
    return wrong;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, lda, ldb, ldc)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    const int64_t free = left ? n : m, step = left ? ldb : 1, step_c = left ? ldc : 1;
    const auto grain =
        static_cast<int64_t>(kProductGrain / std::max(1.0, WorkOf<T>(left ? m : n, left ? m : n, 1)));
    libraries::ForRanges(free, std::max<int64_t>(16, grain), [&](int64_t begin, int64_t end) {
      Blas<kRoutine, T>(Letter(side), Letter(uplo), Narrow(left ? m : end - begin),
                        Narrow(left ? end - begin : n), al(), a, Narrow(lda), b + begin * step, Narrow(ldb),
                        be(), c + begin * step_c, Narrow(ldc));
    });
  });
}
template <typename T, typename... Args>
cublasStatus_t Symm(const char* name, cublasHandle_t h, Args... args) {
  return SymmCall<"symm", T>(name, h, args...);
}
template <typename T, typename... Args>
cublasStatus_t Hemm(const char* name, cublasHandle_t h, Args... args) {
  return SymmCall<"hemm", T>(name, h, args...);
}

// Solves or multiplies with a triangular matrix, in place in B; the parts of B are independent.
template <libraries::Name kRoutine, typename T>
void TriangularOnPool(cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op,
                      cublasDiagType_t diag, int64_t m, int64_t n, T alpha, const T* a, int64_t lda, T* b,
                      int64_t ldb) {
  const bool left = side == CUBLAS_SIDE_LEFT;
  const auto grain =
      static_cast<int64_t>(kProductGrain / std::max(1.0, WorkOf<T>(left ? m : n, left ? m : n, 1)));
  libraries::ForRanges(left ? n : m, std::max<int64_t>(16, grain), [&](int64_t begin, int64_t end) {
    Blas<kRoutine, T>(Letter(side), Letter(uplo), Letter<T>(op), Letter(diag), Narrow(left ? m : end - begin),
                      Narrow(left ? end - begin : n), alpha, a, Narrow(lda), b + begin * (left ? ldb : 1),
                      Narrow(ldb));
  });
}

template <typename T>
void CopyMatrix(int64_t m, int64_t n, const T* from, int64_t ld_from, T* to, int64_t ld_to) {
  if (from == to && ld_from == ld_to) return;
  libraries::ForRanges(n, std::max<int64_t>(1, kMatrixGrain / std::max<int64_t>(1, m)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t j = begin; j < end; ++j)
                           std::copy_n(from + j * ld_from, m, to + j * ld_to);
                       });
}

inline cublasStatus_t CheckTriangular(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                                      cublasOperation_t op, cublasDiagType_t diag, int64_t m, int64_t n,
                                      int64_t lda, int64_t ldb, const void* alpha) {
  return Check(h, IsRight(side), IsRight(uplo), IsRight(op), IsRight(diag), m >= 0, n >= 0,
               LeadingIs(lda, side == CUBLAS_SIDE_LEFT ? m : n), LeadingIs(ldb, m), alpha != nullptr);
}

// Out of place, unlike BLAS; C may be B.
template <typename T>
cublasStatus_t Trmm(const char* name, cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diag, int64_t m, int64_t n, const T* alpha,
                    const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc) {
  if (const cublasStatus_t wrong = CheckTriangular(h, side, uplo, op, diag, m, n, lda, ldb, alpha))
    return wrong;
  if (!LeadingIs(ldc, m)) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, lda, ldb, ldc)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    CopyMatrix(m, n, b, ldb, c, ldc);
    TriangularOnPool<"trmm", T>(side, uplo, op, diag, m, n, al(), a, lda, c, ldc);
  });
}

template <typename T>
cublasStatus_t Trsm(const char* name, cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                    cublasOperation_t op, cublasDiagType_t diag, int64_t m, int64_t n, const T* alpha,
                    const T* a, int64_t lda, T* b, int64_t ldb) {
  if (const cublasStatus_t wrong = CheckTriangular(h, side, uplo, op, diag, m, n, lda, ldb, alpha))
    return wrong;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, lda, ldb)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    TriangularOnPool<"trsm", T>(side, uplo, op, diag, m, n, al(), a, lda, b, ldb);
  });
}

// C = alpha op(A) + beta op(B); a matrix whose factor is 0 is not read. C may be A or B where it is not
// transposed.
template <typename T>
cublasStatus_t Geam(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                    int64_t m, int64_t n, const T* alpha, const T* a, int64_t lda, const T* beta, const T* b,
                    int64_t ldb, T* c, int64_t ldc) {
  if (const cublasStatus_t wrong = Check(
          h, IsRight(op_a), IsRight(op_b), m >= 0, n >= 0, LeadingIs(lda, Transposes(op_a) ? n : m),
          LeadingIs(ldb, Transposes(op_b) ? n : m), LeadingIs(ldc, m), alpha != nullptr, beta != nullptr))
    return wrong;
  // Each element of C is written where it was read.
  const auto fits_in_place = [&](cublasOperation_t op, const T* x, int64_t ld) {
    return x != c || (op == CUBLAS_OP_N && ld == ldc);
  };
  if (!fits_in_place(op_a, a, lda) || !fits_in_place(op_b, b, ldb)) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    const T factor_a = al(), factor_b = be();
    const auto element = [](cublasOperation_t op, const T* x, int64_t ld, int64_t i, int64_t j) {
      const T value = Transposes(op) ? x[j + i * ld] : x[i + j * ld];
      return op == CUBLAS_OP_C || op == CUBLAS_OP_CONJG ? Conjugate(value) : value;
    };
    constexpr int64_t kTile = 32;  // rows and columns: a transposed tile stays in the cache
    const int64_t bands = (n + kTile - 1) / kTile;
    libraries::ForRanges(bands, std::max<int64_t>(1, kMatrixGrain / (m * kTile)),
                         [&](int64_t first, int64_t last) {
                           for (int64_t i0 = 0; i0 < m; i0 += kTile) {
                             for (int64_t j = first * kTile; j < std::min(n, last * kTile); ++j) {
                               for (int64_t i = i0; i < std::min(m, i0 + kTile); ++i) {
                                 T sum{};
                                 if (factor_a != T{}) sum += factor_a * element(op_a, a, lda, i, j);
                                 if (factor_b != T{}) sum += factor_b * element(op_b, b, ldb, i, j);
                                 c[i + j * ldc] = sum;
                               }
                             }
                           }
                         });
  });
}

// C = diag(x) A or A diag(x).
template <typename T>
cublasStatus_t Dgmm(const char* name, cublasHandle_t h, cublasSideMode_t side, int64_t m, int64_t n,
                    const T* a, int64_t lda, const T* x, int64_t incx, T* c, int64_t ldc) {
  if (const cublasStatus_t wrong =
          Check(h, IsRight(side), m >= 0, n >= 0, LeadingIs(lda, m), LeadingIs(ldc, m)))
    return wrong;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=] {
    const bool left = side == CUBLAS_SIDE_LEFT;
    const Vector<const T> factors(x, left ? m : n, incx);
    libraries::ForRanges(n, std::max<int64_t>(1, kMatrixGrain / m), [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        for (int64_t i = 0; i < m; ++i) c[i + j * ldc] = a[i + j * lda] * factors[left ? i : j];
      }
    });
  });
}

}  // namespace ptx2cpu::cublas
