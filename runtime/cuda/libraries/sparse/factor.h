// Incomplete factorisations without fill-in, in place, of matrices with sorted rows: LU (ilu0) and Cholesky
// (ic0), as in Saad, "Iterative Methods for Sparse Linear Systems", 2003, section 10.3.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "runtime/cuda/libraries/sparse/call.h"

namespace ptx2cpu::cusparse {

// The first zero pivot, with the base of the matrix, or -1. Queued work shares it.
struct Pivot {
  std::atomic<int> zero{-1};
};

// What infos of systems and factorisations hold.
struct AnalysisInfo {
  std::shared_ptr<Pivot> pivot = nullptr;
};
struct LuInfo : AnalysisInfo {
  bool boosts = false;
  const double* tolerance = nullptr;
  const void* boost = nullptr;
};

}  // namespace ptx2cpu::cusparse

struct ptx2cpu::cuda::csrilu02Info : ptx2cpu::cusparse::LuInfo {};
struct ptx2cpu::cuda::csric02Info : ptx2cpu::cusparse::AnalysisInfo {};

namespace ptx2cpu::cusparse {

struct Pattern {
  int rows;
  const int *offsets, *columns;
  int base;
  int Begin(int row) const { return offsets[row] - base; }
  int End(int row) const { return offsets[row + 1] - base; }
  int Column(int p) const { return columns[p] - base; }
  // Where the diagonal of a row is stored, or -1.
  int Diagonal(int row) const {
    for (int p = Begin(row); p < End(row); ++p) {
      if (Column(p) == row) return p;
    }
    return -1;
  }
};

inline void NoteZero(Pivot& pivot, int row) {
  int none = -1;
  pivot.zero.compare_exchange_strong(none, row);
}

// `boost` null: a zero stays.
template <typename T>
void FactorLu(const Pattern& a, T* value, Pivot& pivot, const double* tolerance, const T* boost) {
  std::vector<int> diagonal(static_cast<size_t>(a.rows)), place(static_cast<size_t>(a.rows), -1);
  for (int i = 0; i < a.rows; ++i) {
    for (int p = a.Begin(i); p < a.End(i); ++p) place[a.Column(p)] = p;
    for (int p = a.Begin(i); p < a.End(i) && a.Column(p) < i; ++p) {
      const int k = a.Column(p);
      if (diagonal[k] < 0) continue;
      value[p] /= value[diagonal[k]];
      for (int q = diagonal[k] + 1; q < a.End(k); ++q) {
        if (const int to = place[a.Column(q)]; to >= 0) value[to] -= value[p] * value[q];
      }
    }
    diagonal[i] = place[i];
    if (diagonal[i] >= 0 && boost != nullptr && std::abs(value[diagonal[i]]) <= *tolerance)
      value[diagonal[i]] = *boost;
    if (diagonal[i] < 0 || value[diagonal[i]] == T{}) NoteZero(pivot, i + a.base);
    for (int p = a.Begin(i); p < a.End(i); ++p) place[a.Column(p)] = -1;
  }
}

// L in the lower triangle; the upper one stays as it is.
template <typename T>
void FactorCholesky(const Pattern& a, T* value, Pivot& pivot) {
  std::vector<int> diagonal(static_cast<size_t>(a.rows)), place(static_cast<size_t>(a.rows), -1);
  for (int i = 0; i < a.rows; ++i) {
    T left{};
    for (int p = a.Begin(i); p < a.End(i) && a.Column(p) < i; ++p) {
      const int k = a.Column(p);
      T sum = value[p];
      for (int q = a.Begin(k); q < a.End(k) && a.Column(q) < k; ++q) {
        if (const int at = place[a.Column(q)]; at >= 0) sum -= value[at] * Conjugate(value[q]);
      }
      if (diagonal[k] >= 0) sum /= value[diagonal[k]];
      value[p] = sum;
      place[k] = p;
      left += sum * Conjugate(sum);
    }
    diagonal[i] = a.Diagonal(i);
    if (diagonal[i] >= 0) {
      T& d = value[diagonal[i]];
      const auto square = std::real(d - left);
      if (square <= 0) NoteZero(pivot, i + a.base);
      d = T(std::sqrt(square));
    } else {
      NoteZero(pivot, i + a.base);
    }
    for (int p = a.Begin(i); p < a.End(i); ++p) place[a.Column(p)] = -1;
  }
}

inline cusparseStatus_t CheckFactor(cusparseHandle_t h, int m, int nnz, const cusparseMatDescr_t descr,
                                    bool pointers) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 0, nnz >= 0, descr != nullptr, nnz == 0 || pointers))
    return wrong;
  return descr->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS
                                                     : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

template <typename T, typename Info, typename Size>
cusparseStatus_t FactorBufferSize(const char*, cusparseHandle_t h, int m, int nnz,
                                  const cusparseMatDescr_t descr, T* values, const int* offsets,
                                  const int* columns, Info* info, Size* size) {
  const bool pointers = values != nullptr && offsets != nullptr && columns != nullptr && info != nullptr;
  if (const cusparseStatus_t wrong = CheckFactor(h, m, nnz, descr, pointers)) return wrong;
  return ReportSize(size);
}

// Notes a diagonal that is not stored.
template <typename T, typename Info>
cusparseStatus_t AnalyseFactor(const char* name, cusparseHandle_t h, int m, int nnz,
                               const cusparseMatDescr_t descr, const T* values, const int* offsets,
                               const int* columns, Info* info, cusparseSolvePolicy_t, void*) {
  const bool pointers = values != nullptr && offsets != nullptr && columns != nullptr && info != nullptr;
  if (const cusparseStatus_t wrong = CheckFactor(h, m, nnz, descr, pointers)) return wrong;
  info->pivot = std::make_shared<Pivot>();
  return OnStream(h, name, [a = Pattern{m, offsets, columns, descr->base}, pivot = info->pivot] {
    for (int i = 0; i < a.rows; ++i) {
      if (a.Diagonal(i) < 0) return NoteZero(*pivot, i + a.base);
    }
  });
}

template <typename T>
cusparseStatus_t FactorIlu(const char* name, cusparseHandle_t h, int m, int nnz,
                           const cusparseMatDescr_t descr, T* values, const int* offsets, const int* columns,
                           csrilu02Info* info, cusparseSolvePolicy_t, void*) {
  const bool pointers = values != nullptr && offsets != nullptr && columns != nullptr && info != nullptr;
  if (const cusparseStatus_t wrong = CheckFactor(h, m, nnz, descr, pointers)) return wrong;
  if (info->pivot == nullptr) return CUSPARSE_STATUS_INTERNAL_ERROR;  // never analysed
  if (!info->boosts) {
    return OnStream(h, name, [=, a = Pattern{m, offsets, columns, descr->base}, pivot = info->pivot] {
      FactorLu<T>(a, values, *pivot, nullptr, nullptr);
    });
  }
  return OnStream(h, name,
                  [=, a = Pattern{m, offsets, columns, descr->base}, pivot = info->pivot,
                   tolerance = Scalar<double>(h, info->tolerance), boost = Scalar<T>(h, info->boost)] {
                    const double limit = tolerance();
                    const T replacement = boost();
                    FactorLu<T>(a, values, *pivot, &limit, &replacement);
                  });
}
template <typename T>
cusparseStatus_t FactorIc(const char* name, cusparseHandle_t h, int m, int nnz,
                          const cusparseMatDescr_t descr, T* values, const int* offsets, const int* columns,
                          csric02Info* info, cusparseSolvePolicy_t, void*) {
  const bool pointers = values != nullptr && offsets != nullptr && columns != nullptr && info != nullptr;
  if (const cusparseStatus_t wrong = CheckFactor(h, m, nnz, descr, pointers)) return wrong;
  if (info->pivot == nullptr) return CUSPARSE_STATUS_INTERNAL_ERROR;
  return OnStream(h, name, [=, a = Pattern{m, offsets, columns, descr->base}, pivot = info->pivot] {
    FactorCholesky<T>(a, values, *pivot);
  });
}

template <typename T>
cusparseStatus_t BoostIlu(const char*, cusparseHandle_t h, LuInfo* info, int enable, double* tolerance,
                          T* boost) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, info != nullptr, enable == 0 || (tolerance != nullptr && boost != nullptr)))
    return wrong;
  info->boosts = enable != 0, info->tolerance = tolerance, info->boost = boost;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusparse
