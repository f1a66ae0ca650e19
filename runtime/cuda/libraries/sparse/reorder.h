// Changes of rows: removal of small elements, sorting and its inverse, colouring.
#pragma once

#include <numeric>
#include <tuple>

#include "runtime/cuda/libraries/sparse/prune.h"

// The order that a sorting undid. Queued work shares it.
struct ptx2cpu::cuda::csru2csrInfo {
  std::shared_ptr<std::vector<int>> order = nullptr;
};
struct ptx2cpu::cuda::cusparseColorInfo {};

namespace ptx2cpu::cusparse {

template <typename T>
double LimitFrom(const T& tolerance) {
  return static_cast<double>(std::real(tolerance));
}
// The elements of each row that are larger than the tolerance, whose real part counts.
template <typename T>
cusparseStatus_t NnzCompress(const char* name, cusparseHandle_t h, int m, const cusparseMatDescr_t descr,
                             const T* values, const int* offsets, int* counts, int* total, T tolerance) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, m >= 0, descr != nullptr, total != nullptr, LimitFrom(tolerance) >= 0))
    return wrong;
  if (descr->type != CUSPARSE_MATRIX_TYPE_GENERAL) return CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  return WithResult(h, name, [=, base = static_cast<int>(descr->base)] {
    int sum = 0;
    for (int i = 0; i < m; ++i) {
      counts[i] = 0;
      for (int p = offsets[i] - base; p < offsets[i + 1] - base; ++p)
        counts[i] += Magnitude(values[p]) > LimitFrom(tolerance);
      sum += counts[i];
    }
    *total = sum;
  });
}
template <typename T>
cusparseStatus_t Compress(const char* name, cusparseHandle_t h, int m, int n, const cusparseMatDescr_t descr,
                          const T* values_a, const int* columns_a, const int* offsets_a, int nnz,
                          const int* counts, T* values, int* columns, int* offsets, T tolerance) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, m >= 0, n >= 0, nnz >= 0, descr != nullptr, LimitFrom(tolerance) >= 0))
    return wrong;
  return OnStream(h, name,
                  [=, base = static_cast<int>(descr->base),
                   a = SparseRows<T>{{m, offsets_a, columns_a, descr->base}, values_a}] {
                    offsets[0] = base;
                    for (int i = 0; i < m; ++i) offsets[i + 1] = offsets[i] + counts[i];
                    StoreLarger(a, LimitFrom(tolerance), base, offsets, columns, values);
                  });
}

template <typename T>
cusparseStatus_t UnsortedBufferSize(const char*, cusparseHandle_t h, int m, int n, int nnz, T*, const int*,
                                    int*, csru2csrInfo* info, size_t* size) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 0, n >= 0, nnz >= 0, info != nullptr)) return wrong;
  return ReportSize(size);
}
// Sorts each row by columns.
template <typename T>
cusparseStatus_t SortRows(const char* name, cusparseHandle_t h, int m, int n, int nnz,
                          const cusparseMatDescr_t descr, T* values, const int* offsets, int* columns,
                          csru2csrInfo* info, void*) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, m >= 0, n >= 0, nnz >= 0, descr != nullptr, info != nullptr))
    return wrong;
  info->order = std::make_shared<std::vector<int>>(static_cast<size_t>(nnz));
  return OnStream(h, name, [=, order = info->order, base = static_cast<int>(descr->base)] {
    std::vector<int>& p = *order;
    std::iota(p.begin(), p.end(), 0);
    for (int i = 0; i < m; ++i) {
      std::sort(p.begin() + (offsets[i] - base), p.begin() + (offsets[i + 1] - base),
                [&](int a, int b) { return std::tie(columns[a], a) < std::tie(columns[b], b); });
    }
    const std::vector<int> old_columns(columns, columns + nnz);
    const std::vector<T> old_values(values, values + nnz);
    for (int k = 0; k < nnz; ++k) columns[k] = old_columns[p[k]], values[k] = old_values[p[k]];
  });
}
// Restores the order from before.
template <typename T>
cusparseStatus_t UnsortRows(const char* name, cusparseHandle_t h, int m, int n, int nnz,
                            const cusparseMatDescr_t descr, T* values, const int*, int* columns,
                            csru2csrInfo* info, void*) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, m >= 0, n >= 0, nnz >= 0, descr != nullptr, info != nullptr))
    return wrong;
  if (info->order == nullptr || info->order->size() != static_cast<size_t>(nnz))
    return CUSPARSE_STATUS_INVALID_VALUE;  // not the matrix that was sorted
  return OnStream(h, name, [=, order = info->order] {
    const std::vector<int>& p = *order;
    const std::vector<int> old_columns(columns, columns + nnz);
    const std::vector<T> old_values(values, values + nnz);
    for (int k = 0; k < nnz; ++k) columns[p[k]] = old_columns[k], values[p[k]] = old_values[k];
  });
}

// Neighbours have different colours: the least that is free, in the order of the rows, for the fraction of
// them that was asked for; each of the others has one of its own.
inline int ColourRows(const Pattern& a, int greedy, int* colour) {
  std::fill_n(colour, a.rows, -1);
  std::vector<int> taken;  // taken[c] == i: a neighbour of row i has colour c
  int colours = 0;
  for (int i = 0; i < a.rows; ++i) {
    int least = colours;
    if (i < greedy) {
      for (int p = a.Begin(i); p < a.End(i); ++p) {
        const int j = a.Column(p);
        if (j != i && j < a.rows && colour[j] >= 0) taken[colour[j]] = i;
      }
      least =
          static_cast<int>(std::ranges::find_if(taken, [&](int row) { return row != i; }) - taken.begin());
    }
    colour[i] = least;
    if (least == colours) ++colours, taken.push_back(-1);
  }
  return colours;
}
template <typename T>
cusparseStatus_t Colour(const char* name, cusparseHandle_t h, int m, int nnz, const cusparseMatDescr_t descr,
                        const T*, const int* offsets, const int* columns, const libraries::Real<T>* fraction,
                        int* count, int* colour, int* order, cusparseColorInfo* info) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, m >= 0, nnz >= 0, descr != nullptr, fraction != nullptr, count != nullptr,
                     info != nullptr, m == 0 || colour != nullptr))
    return wrong;
  if (descr->type != CUSPARSE_MATRIX_TYPE_GENERAL) return CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  return WithResult(
      h, name,
      [=, a = Pattern{m, offsets, columns, descr->base}, share = Scalar<libraries::Real<T>>(h, fraction)] {
        const double part = std::clamp(static_cast<double>(share()), 0.0, 1.0);
        *count = ColourRows(a, static_cast<int>(std::ceil(part * m)), colour);
        if (order == nullptr) return;
        // Rows of one colour are neighbours in this order.
        std::iota(order, order + m, 0);
        std::sort(order, order + m,
                  [&](int i, int j) { return std::tie(colour[i], i) < std::tie(colour[j], j); });
      });
}

}  // namespace ptx2cpu::cusparse
