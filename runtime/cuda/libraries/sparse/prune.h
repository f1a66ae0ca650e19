// Removes small elements of sparse and of dense matrices, by a limit or by a number of elements.
#pragma once

#include <cmath>

#include "runtime/cuda/libraries/core/narrow.h"
#include "runtime/cuda/libraries/sparse/factor.h"

// The limit that a percentage means, which the work that counts finds.
struct ptx2cpu::cuda::pruneInfo {
  std::shared_ptr<double> limit = std::make_shared<double>(0);
};

namespace ptx2cpu::cusparse {

template <typename T>
double Magnitude(const T& value) {
  if constexpr (std::is_same_v<T, __half>) {
    return std::abs(static_cast<double>(libraries::ToFloat(value)));
  } else {
    return static_cast<double>(std::abs(value));
  }
}

// A matrix by its rows. visit(column, value) for row i.
template <typename T>
struct DenseRows {
  int rows, columns;
  const T* value;
  int ld;
  template <typename Visit>
  void ForRow(int i, const Visit& visit) const {
    for (int j = 0; j < columns; ++j) visit(j, value[i + int64_t{j} * ld]);
  }
};
template <typename T>
struct SparseRows {
  Pattern pattern;
  const T* value;
  int rows = pattern.rows;
  template <typename Visit>
  void ForRow(int i, const Visit& visit) const {
    for (int p = pattern.Begin(i); p < pattern.End(i); ++p) visit(pattern.Column(p), value[p]);
  }
};

template <typename A>
void CountLarger(const A& a, double limit, int base, int* offsets, int* total) {
  offsets[0] = base;
  for (int i = 0; i < a.rows; ++i) {
    int count = 0;
    a.ForRow(i, [&](int, const auto& value) { count += Magnitude(value) > limit; });
    offsets[i + 1] = offsets[i] + count;
  }
  if (total != nullptr) *total = offsets[a.rows] - base;
}
template <typename A, typename T>
void StoreLarger(const A& a, double limit, int base, const int* offsets, int* columns, T* values) {
  libraries::ForRanges(a.rows, 256, [&](int64_t begin, int64_t end) {
    for (int i = static_cast<int>(begin); i < end; ++i) {
      int next = offsets[i] - base;
      a.ForRow(i, [&](int column, const T& value) {
        if (Magnitude(value) > limit) columns[next] = column + base, values[next++] = value;
      });
    }
  });
}
// The largest of the elements that go: number ceil(count * percentage / 100) - 1 of all, ascending.
template <typename A>
double LimitOf(const A& a, float percentage) {
  std::vector<double> all;
  for (int i = 0; i < a.rows; ++i) {
    a.ForRow(i, [&](int, const auto& value) { all.push_back(Magnitude(value)); });
  }
  if (all.empty()) return 0;
  const auto count = static_cast<int64_t>(all.size());
  const auto place = static_cast<int64_t>(std::ceil(static_cast<float>(count) * (percentage / 100))) - 1;
  const auto at = all.begin() + std::clamp<int64_t>(place, 0, count - 1);
  std::nth_element(all.begin(), at, all.end());
  return *at;
}

inline cusparseStatus_t CheckPruned(cusparseHandle_t h, int m, int n, const cusparseMatDescr_t to,
                                    bool right) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 0, n >= 0, to != nullptr, right)) return wrong;
  return to->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS
                                                  : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}
inline bool IsPercentage(float value) { return value >= 0 && value <= 100; }
// A threshold is of the matrix's type.
template <typename T>
auto ThresholdOf(cusparseHandle_t h, const T* threshold) {
  return [scalar = Scalar<T>(h, threshold)] {
    const T value = scalar();
    if constexpr (std::is_same_v<T, __half>) {
      return static_cast<double>(libraries::ToFloat(value));
    } else {
      return static_cast<double>(value);
    }
  };
}

template <typename T>
cusparseStatus_t PruneDenseBufferSize(const char*, cusparseHandle_t h, int m, int n, const T*, int lda,
                                      const T* threshold, const cusparseMatDescr_t descr, const T*,
                                      const int*, const int*, size_t* size) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, lda >= std::max(1, m) && threshold != nullptr))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t PruneDenseNnz(const char* name, cusparseHandle_t h, int m, int n, const T* a, int lda,
                               const T* threshold, const cusparseMatDescr_t descr, int* offsets, int* total,
                               void*) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, lda >= std::max(1, m) && threshold != nullptr))
    return wrong;
  return WithResult(h, name, [=, limit = ThresholdOf(h, threshold), base = static_cast<int>(descr->base)] {
    CountLarger(DenseRows<T>{m, n, a, lda}, limit(), base, offsets, total);
  });
}
template <typename T>
cusparseStatus_t PruneDense(const char* name, cusparseHandle_t h, int m, int n, const T* a, int lda,
                            const T* threshold, const cusparseMatDescr_t descr, T* values, const int* offsets,
                            int* columns, void*) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, lda >= std::max(1, m) && threshold != nullptr))
    return wrong;
  return OnStream(h, name, [=, limit = ThresholdOf(h, threshold), base = static_cast<int>(descr->base)] {
    StoreLarger(DenseRows<T>{m, n, a, lda}, limit(), base, offsets, columns, values);
  });
}
template <typename T>
cusparseStatus_t PruneCsrBufferSize(const char*, cusparseHandle_t h, int m, int n, int nnz,
                                    const cusparseMatDescr_t descr_a, const T*, const int*, const int*,
                                    const T* threshold, const cusparseMatDescr_t descr, const T*, const int*,
                                    const int*, size_t* size) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, nnz >= 0 && descr_a != nullptr && threshold != nullptr))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t PruneCsrNnz(const char* name, cusparseHandle_t h, int m, int n, int nnz,
                             const cusparseMatDescr_t descr_a, const T* values_a, const int* offsets_a,
                             const int* columns_a, const T* threshold, const cusparseMatDescr_t descr,
                             int* offsets, int* total, void*) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, nnz >= 0 && descr_a != nullptr && threshold != nullptr))
    return wrong;
  return WithResult(h, name,
                    [=, limit = ThresholdOf(h, threshold), base = static_cast<int>(descr->base),
                     a = SparseRows<T>{{m, offsets_a, columns_a, descr_a->base}, values_a}] {
                      CountLarger(a, limit(), base, offsets, total);
                    });
}
template <typename T>
cusparseStatus_t PruneCsr(const char* name, cusparseHandle_t h, int m, int n, int nnz,
                          const cusparseMatDescr_t descr_a, const T* values_a, const int* offsets_a,
                          const int* columns_a, const T* threshold, const cusparseMatDescr_t descr, T* values,
                          const int* offsets, int* columns, void*) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, nnz >= 0 && descr_a != nullptr && threshold != nullptr))
    return wrong;
  return OnStream(h, name,
                  [=, limit = ThresholdOf(h, threshold), base = static_cast<int>(descr->base),
                   a = SparseRows<T>{{m, offsets_a, columns_a, descr_a->base}, values_a}] {
                    StoreLarger(a, limit(), base, offsets, columns, values);
                  });
}

// The same with a percentage of the elements that go; what counts finds the limit, and `info` keeps it.
template <typename T>
cusparseStatus_t PruneDenseShareBufferSize(const char*, cusparseHandle_t h, int m, int n, const T*, int lda,
                                           float percentage, const cusparseMatDescr_t descr, const T*,
                                           const int*, const int*, pruneInfo* info, size_t* size) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, lda >= std::max(1, m) && IsPercentage(percentage) && info != nullptr))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t PruneDenseShareNnz(const char* name, cusparseHandle_t h, int m, int n, const T* a, int lda,
                                    float percentage, const cusparseMatDescr_t descr, int* offsets,
                                    int* total, pruneInfo* info, void*) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, lda >= std::max(1, m) && IsPercentage(percentage) && info != nullptr))
    return wrong;
  return WithResult(h, name, [=, limit = info->limit, base = static_cast<int>(descr->base)] {
    const DenseRows<T> rows{m, n, a, lda};
    *limit = LimitOf(rows, percentage);
    CountLarger(rows, *limit, base, offsets, total);
  });
}
template <typename T>
cusparseStatus_t PruneDenseShare(const char* name, cusparseHandle_t h, int m, int n, const T* a, int lda,
                                 float percentage, const cusparseMatDescr_t descr, T* values,
                                 const int* offsets, int* columns, pruneInfo* info, void*) {
  if (const cusparseStatus_t wrong =
          CheckPruned(h, m, n, descr, lda >= std::max(1, m) && IsPercentage(percentage) && info != nullptr))
    return wrong;
  return OnStream(h, name, [=, limit = info->limit, base = static_cast<int>(descr->base)] {
    StoreLarger(DenseRows<T>{m, n, a, lda}, *limit, base, offsets, columns, values);
  });
}
template <typename T>
cusparseStatus_t PruneCsrShareBufferSize(const char*, cusparseHandle_t h, int m, int n, int nnz,
                                         const cusparseMatDescr_t descr_a, const T*, const int*, const int*,
                                         float percentage, const cusparseMatDescr_t descr, const T*,
                                         const int*, const int*, pruneInfo* info, size_t* size) {
  if (const cusparseStatus_t wrong = CheckPruned(
          h, m, n, descr, nnz >= 0 && descr_a != nullptr && IsPercentage(percentage) && info != nullptr))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t PruneCsrShareNnz(const char* name, cusparseHandle_t h, int m, int n, int nnz,
                                  const cusparseMatDescr_t descr_a, const T* values_a, const int* offsets_a,
                                  const int* columns_a, float percentage, const cusparseMatDescr_t descr,
                                  int* offsets, int* total, pruneInfo* info, void*) {
  if (const cusparseStatus_t wrong = CheckPruned(
          h, m, n, descr, nnz >= 0 && descr_a != nullptr && IsPercentage(percentage) && info != nullptr))
    return wrong;
  return WithResult(h, name,
                    [=, limit = info->limit, base = static_cast<int>(descr->base),
                     a = SparseRows<T>{{m, offsets_a, columns_a, descr_a->base}, values_a}] {
                      *limit = LimitOf(a, percentage);
                      CountLarger(a, *limit, base, offsets, total);
                    });
}
template <typename T>
cusparseStatus_t PruneCsrShare(const char* name, cusparseHandle_t h, int m, int n, int nnz,
                               const cusparseMatDescr_t descr_a, const T* values_a, const int* offsets_a,
                               const int* columns_a, float percentage, const cusparseMatDescr_t descr,
                               T* values, const int* offsets, int* columns, pruneInfo* info, void*) {
  if (const cusparseStatus_t wrong = CheckPruned(
          h, m, n, descr, nnz >= 0 && descr_a != nullptr && IsPercentage(percentage) && info != nullptr))
    return wrong;
  return OnStream(h, name,
                  [=, limit = info->limit, base = static_cast<int>(descr->base),
                   a = SparseRows<T>{{m, offsets_a, columns_a, descr_a->base}, values_a}] {
                    StoreLarger(a, *limit, base, offsets, columns, values);
                  });
}

}  // namespace ptx2cpu::cusparse
