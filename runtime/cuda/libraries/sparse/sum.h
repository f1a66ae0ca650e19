// Sums of sparse matrices with sorted rows, dense matrices by sparse vectors, counts of entries.
#pragma once

#include "runtime/cuda/libraries/sparse/factor.h"

namespace ptx2cpu::cusparse {

// visit(column, place in A or -1, place in B or -1) for the columns of row i in either, ascending.
template <typename Visit>
void MergeRow(const Pattern& a, const Pattern& b, int i, const Visit& visit) {
  int p = a.Begin(i), q = b.Begin(i);
  while (p < a.End(i) || q < b.End(i)) {
    const bool of_a = p < a.End(i), of_b = q < b.End(i);
    const int left = of_a ? a.Column(p) : 0, right = of_b ? b.Column(q) : 0;
    if (of_a && of_b && left == right) {
      visit(left, p++, q++);
    } else if (of_a && (!of_b || left < right)) {
      visit(left, p++, -1);
    } else {
      visit(right, -1, q++);
    }
  }
}

template <typename T>
cusparseStatus_t GeamBufferSize(const char*, cusparseHandle_t h, int m, int n, const T* alpha,
                                const cusparseMatDescr_t descr_a, int, const T*, const int*, const int*,
                                const T* beta, const cusparseMatDescr_t descr_b, int, const T*, const int*,
                                const int*, const cusparseMatDescr_t descr_c, const T*, const int*,
                                const int*, size_t* size) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 0, n >= 0, alpha != nullptr, beta != nullptr,
                                                descr_a != nullptr, descr_b != nullptr, descr_c != nullptr))
    return wrong;
  return ReportSize(size);
}
// C = alpha A + beta B; the offsets of C are those that cusparseXcsrgeam2Nnz wrote.
template <typename T>
cusparseStatus_t Geam(const char* name, cusparseHandle_t h, int m, int n, const T* alpha,
                      const cusparseMatDescr_t descr_a, int, const T* value_a, const int* offsets_a,
                      const int* columns_a, const T* beta, const cusparseMatDescr_t descr_b, int,
                      const T* value_b, const int* offsets_b, const int* columns_b,
                      const cusparseMatDescr_t descr_c, T* value_c, int* offsets_c, int* columns_c, void*) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 0, n >= 0, alpha != nullptr, beta != nullptr,
                                                descr_a != nullptr, descr_b != nullptr, descr_c != nullptr))
    return wrong;
  return OnStream(h, name,
                  [=, a = Pattern{m, offsets_a, columns_a, descr_a->base},
                   b = Pattern{m, offsets_b, columns_b, descr_b->base}, base = descr_c->base,
                   al = Scalar<T>(h, alpha), be = Scalar<T>(h, beta)] {
                    libraries::ForRanges(m, 1024, [&](int64_t begin, int64_t end) {
                      for (int i = static_cast<int>(begin); i < end; ++i) {
                        int next = offsets_c[i] - base;
                        MergeRow(a, b, i, [&](int column, int p, int q) {
                          columns_c[next] = column + base;
                          value_c[next++] =
                              (p < 0 ? T{} : al() * value_a[p]) + (q < 0 ? T{} : be() * value_b[q]);
                        });
                      }
                    });
                  });
}

// The entries other than 0 of each row or column, and of all.
template <typename T>
cusparseStatus_t Nnz(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int m, int n,
                     const cusparseMatDescr_t descr, const T* a, int lda, int* counts, int* total) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, direction == CUSPARSE_DIRECTION_ROW || direction == CUSPARSE_DIRECTION_COLUMN, m >= 0,
                     n >= 0, descr != nullptr, lda >= std::max(1, m), total != nullptr))
    return wrong;
  return WithResult(h, name, [=] {
    const bool rows = direction == CUSPARSE_DIRECTION_ROW;
    std::fill_n(counts, rows ? m : n, 0);
    int sum = 0;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < m; ++i) {
        const int one = a[i + int64_t{j} * lda] != T{};
        counts[rows ? i : j] += one, sum += one;
      }
    }
    *total = sum;
  });
}

template <typename T = float>
cusparseStatus_t GemviBufferSize(const char*, cusparseHandle_t h, cusparseOperation_t op, int m, int n,
                                 int nnz, int* size) {
  if (const cusparseStatus_t wrong = CheckNamed(h, IsRight(op), m >= 0, n >= 0, nnz >= 0)) return wrong;
  return ReportSize(size);
}
// y = alpha op(A) x + beta y: A dense and column-major, x sparse.
template <typename T>
cusparseStatus_t Gemvi(const char* name, cusparseHandle_t h, cusparseOperation_t op, int m, int n,
                       const T* alpha, const T* a, int lda, int nnz, const T* values, const int* indices,
                       const T* beta, T* y, cusparseIndexBase_t base, void*) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, IsRight(op), m >= 0, n >= 0, alpha != nullptr, lda >= std::max(1, m), nnz >= 0,
                     beta != nullptr, IsRight(base)))
    return wrong;
  return OnStream(h, name, [=, al = Scalar<T>(h, alpha), be = Scalar<T>(h, beta)] {
    const bool transposed = Transposes(op), conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
    libraries::ForRanges(transposed ? n : m, 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T sum{};
        for (int p = 0; p < nnz; ++p) {
          const int64_t k = indices[p] - base;
          const T element = transposed ? a[k + i * lda] : a[i + k * lda];
          sum += (conjugate ? Conjugate(element) : element) * values[p];
        }
        y[i] = be() == T{} ? al() * sum : al() * sum + be() * y[i];
      }
    });
  });
}

}  // namespace ptx2cpu::cusparse
