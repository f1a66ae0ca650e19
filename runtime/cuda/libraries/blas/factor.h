// Batches of LAPACK's factorisations. Arrays of addresses, pivots and states are on the device.
#pragma once

#include "runtime/cuda/libraries/blas/batch.h"
#include "runtime/cuda/libraries/core/elimination.h"

namespace ptx2cpu::cublas {

// Pivots of the greatest absolute value, where LAPACK compares |re| + |im|: the factors are other ones.
template <typename T>
int FactorByAbsoluteValue(int n, T* a, int lda, int* pivots) {
  int first_zero = 0;
  for (int k = 0; k < n; ++k) {
    T* const column = a + int64_t{k} * lda;
    const T* const pivot = std::max_element(
        column + k, column + n, [](const T& x, const T& y) { return std::norm(x) < std::norm(y); });
    const auto row = static_cast<int>(pivot - column);
    pivots[k] = row + 1;
    if (*pivot == T{}) {
      if (first_zero == 0) first_zero = k + 1;
      continue;
    }
    for (int j = 0; j < n && row != k; ++j) std::swap(a[k + int64_t{j} * lda], a[row + int64_t{j} * lda]);
    const T inverse = T(1) / column[k];
    for (int i = k + 1; i < n; ++i) column[i] *= inverse;
    for (int j = k + 1; j < n; ++j) {
      const T factor = a[k + int64_t{j} * lda];
      for (int i = k + 1; i < n; ++i) a[i + int64_t{j} * lda] -= column[i] * factor;
    }
  }
  return first_zero;
}

// `pivots` null: without.
template <typename T>
int Factor(int n, T* a, int lda, int* pivots) {
  if (pivots == nullptr) return libraries::FactorWithoutPivots(n, n, a, lda);
  if constexpr (kIsComplex<T>) {
    return FactorByAbsoluteValue(n, a, lda, pivots);
  } else {
    int info = 0;
    Blas<"getrf", T>(n, n, a, lda, pivots, &info);
    return info;
  }
}

// B = op(A)^-1 B, from the factors of A.
template <typename T>
void SolveFactored(cublasOperation_t op, int n, int columns, const T* a, int lda, const int* pivots, T* b,
                   int ldb) {
  if (pivots != nullptr) {
    int info = 0;
    return Blas<"getrs", T>(Letter<T>(op), n, columns, a, lda, pivots, b, ldb, &info);
  }
  libraries::SolveWithoutPivots(Letter<T>(op), n, columns, a, lda, b, ldb);
}

// The inverse of a factored matrix; the number of the first zero on the diagonal, or 0.
template <typename T>
int InvertFactored(int n, const T* a, int lda, const int* pivots, T* inverse, int ld) {
  for (int k = 0; k < n; ++k) {
    if (a[k + int64_t{k} * lda] == T{}) return k + 1;
  }
  for (int j = 0; j < n; ++j) {
    std::fill_n(inverse + int64_t{j} * ld, n, T{});
    inverse[j + int64_t{j} * ld] = T(1);
  }
  SolveFactored(CUBLAS_OP_N, n, n, a, lda, pivots, inverse, ld);
  return 0;
}

// Reports an invalid parameter, also by its position.
inline cublasStatus_t WrongParameter(int* info, int position) {
  *info = -position;
  return CUBLAS_STATUS_INVALID_VALUE;
}

template <typename T>
cublasStatus_t GetrfBatched(const char* name, cublasHandle_t h, int n, T* const a[], int lda, int* pivots,
                            int* info, int count) {
  if (const cublasStatus_t wrong = Check(h, n >= 0, count >= 0, LeadingIs(lda, n))) return wrong;
  if (n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name)) return missing;
  return OnStream(h, name, [=] {
    ForBatch(count, WorkOf<T>(n, n, n) / 3, [&](int64_t i) {
      info[i] = Factor(n, a[i], lda, pivots == nullptr ? nullptr : pivots + i * n);
    });
  });
}

template <typename T>
cublasStatus_t GetrsBatched(const char* name, cublasHandle_t h, cublasOperation_t op, int n, int columns,
                            const T* const a[], int lda, const int* pivots, T* const b[], int ldb, int* info,
                            int count) {
  if (const cublasStatus_t wrong = Check(h, info != nullptr)) return wrong;
  *info = 0;
  if (!IsRight(op)) return WrongParameter(info, 1);
  if (n < 0) return WrongParameter(info, 2);
  if (columns < 0) return WrongParameter(info, 3);
  if (!LeadingIs(lda, n)) return WrongParameter(info, 5);
  if (!LeadingIs(ldb, n)) return WrongParameter(info, 8);
  if (count < 0) return WrongParameter(info, 10);
  if (n == 0 || columns == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name)) return missing;
  return OnStream(h, name, [=] {
    ForBatch(count, WorkOf<T>(n, n, columns), [&](int64_t i) {
      SolveFactored(op, n, columns, a[i], lda, pivots == nullptr ? nullptr : pivots + i * n, b[i], ldb);
    });
  });
}

template <typename T>
cublasStatus_t GetriBatched(const char* name, cublasHandle_t h, int n, const T* const a[], int lda,
                            const int* pivots, T* const c[], int ldc, int* info, int count) {
  if (const cublasStatus_t wrong = Check(h, n >= 0, count >= 0, LeadingIs(lda, n), LeadingIs(ldc, n)))
    return wrong;
  if (n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name)) return missing;
  return OnStream(h, name, [=] {
    ForBatch(count, WorkOf<T>(n, n, n), [&](int64_t i) {
      info[i] = InvertFactored(n, a[i], lda, pivots == nullptr ? nullptr : pivots + i * n, c[i], ldc);
    });
  });
}

constexpr int kMaxMatinv = 32;  // as documented

template <typename T>
cublasStatus_t MatinvBatched(const char* name, cublasHandle_t h, int n, const T* const a[], int lda,
                             T* const inverse[], int ld, int* info, int count) {
  if (const cublasStatus_t wrong =
          Check(h, n >= 0, n <= kMaxMatinv, count >= 0, LeadingIs(lda, n), LeadingIs(ld, n)))
    return wrong;
  if (n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name)) return missing;
  return OnStream(h, name, [=] {
    ForBatch(count, 2 * WorkOf<T>(n, n, n), [&](int64_t i) {
      T factored[kMaxMatinv * kMaxMatinv];
      int pivots[kMaxMatinv];
      for (int j = 0; j < n; ++j) std::copy_n(a[i] + int64_t{j} * lda, n, factored + j * n);
      info[i] = Factor(n, factored, n, pivots);
      if (info[i] == 0) InvertFactored(n, factored, n, pivots, inverse[i], ld);
    });
  });
}

template <typename T>
cublasStatus_t GeqrfBatched(const char* name, cublasHandle_t h, int m, int n, T* const a[], int lda,
                            T* const tau[], int* info, int count) {
  if (const cublasStatus_t wrong = Check(h, info != nullptr)) return wrong;
  *info = 0;
  if (m < 0) return WrongParameter(info, 1);
  if (n < 0) return WrongParameter(info, 2);
  if (!LeadingIs(lda, m)) return WrongParameter(info, 4);
  if (count < 0) return WrongParameter(info, 7);
  if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name)) return missing;
  return OnStream(h, name, [=] {
    ForBatch(count, 2 * WorkOf<T>(m, n, std::min(m, n)), [&](int64_t i) {
      const int room = 32 * n;
      const auto work = std::make_unique<T[]>(static_cast<size_t>(room));
      int state = 0;
      Blas<"geqrf", T>(m, n, a[i], lda, tau[i], work.get(), room, &state);
    });
  });
}

// Least squares of overdetermined systems: only N and m >= n, as documented.
template <typename T>
cublasStatus_t GelsBatched(const char* name, cublasHandle_t h, cublasOperation_t op, int m, int n,
                           int columns, T* const a[], int lda, T* const c[], int ldc, int* info, int* states,
                           int count) {
  if (const cublasStatus_t wrong = Check(h, info != nullptr)) return wrong;
  *info = 0;
  if (op != CUBLAS_OP_N || m < n) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (n < 0) return WrongParameter(info, 3);
  if (columns < 0) return WrongParameter(info, 4);
  if (!LeadingIs(lda, m)) return WrongParameter(info, 6);
  if (!LeadingIs(ldc, m)) return WrongParameter(info, 8);
  if (count < 0) return WrongParameter(info, 11);
  if (n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name)) return missing;
  return OnStream(h, name, [=] {
    ForBatch(count, 2 * WorkOf<T>(m, n, n + columns), [&](int64_t i) {
      const int room = n + 32 * std::max(m, columns);
      const auto work = std::make_unique<T[]>(static_cast<size_t>(room));
      int state = 0;
      Blas<"gels", T>('N', m, n, columns, a[i], lda, c[i], ldc, work.get(), room, &state);
      if (states != nullptr) states[i] = state;
    });
  });
}

}  // namespace ptx2cpu::cublas
