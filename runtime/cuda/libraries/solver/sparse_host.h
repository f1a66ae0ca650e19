// cusolverSp's functions that the host alone has: least squares of any rank, eigenvalues in a rectangle, an
// order of the rows that leaves no zero on the diagonal.
#pragma once

#include <cmath>
#include <complex>
#include <numeric>

#include "runtime/cuda/libraries/solver/lapack.h"
#include "runtime/cuda/libraries/solver/sparse_call.h"

namespace ptx2cpu::cusolver {

// By columns.
template <typename T>
using DenseColumns = std::vector<std::vector<T>>;
template <typename T>
DenseColumns<T> Dense(int m, int n, int base, const T* values, const int* begins, const int* columns) {
  DenseColumns<T> dense(static_cast<size_t>(n), std::vector<T>(static_cast<size_t>(m)));
  for (int row = 0; row < m; ++row) {
    for (int at = begins[row] - base; at < begins[row + 1] - base; ++at)
      dense[static_cast<size_t>(columns[at] - base)][static_cast<size_t>(row)] = values[at];
  }
  return dense;
}

template <typename T>
Real<T> NormFrom(size_t first, const std::vector<T>& v) {
  Real<T> sum = 0;
  for (size_t i = first; i < v.size(); ++i) sum += std::norm(v[i]);
  return std::sqrt(sum);
}

// QR with the largest of the remaining columns first: P. Businger and G. Golub, Linear Least Squares
// Solutions by Householder Transformations (1965). Elements of R's diagonal up to the tolerance are zeros.
template <typename T>
struct RankedQr {
  DenseColumns<T> columns;  // R, above the diagonal
  std::vector<T> b;         // Q^H b
  std::vector<int> order;
  size_t rank = 0;

  void Factor(Real<T> tolerance) {
    order.resize(columns.size());
    std::iota(order.begin(), order.end(), 0);
    for (; rank < std::min(columns.size(), b.size()); ++rank) {
      size_t largest = rank;
      for (size_t j = rank; j < columns.size(); ++j) {
        if (NormFrom(rank, columns[j]) > NormFrom(rank, columns[largest])) largest = j;
      }
      if (!(NormFrom(rank, columns[largest]) > tolerance)) return;
      std::swap(columns[rank], columns[largest]), std::swap(order[rank], order[largest]);
      Reflect();
    }
  }
  // The solution that is zero in the columns beyond the rank.
  void Solve(T* x) const {
    std::vector<T> solution(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(rank));
    for (size_t i = rank; i-- > 0;) {
      for (size_t j = i + 1; j < rank; ++j) solution[i] -= columns[j][i] * solution[j];
      solution[i] /= columns[i][i];
    }
    std::fill_n(x, columns.size(), T{});
    for (size_t i = 0; i < rank; ++i) x[order[i]] = solution[i];
  }

 private:
  void Reflect() {
    std::vector<T> v = columns[rank];
    const Real<T> size = NormFrom(rank, v), head = std::abs(v[rank]);
    const T sign = head == 0 ? T{1} : v[rank] / head;
    v[rank] += sign * size;
    const Real<T> square = 2 * size * (size + head);
    const auto apply = [&](std::vector<T>& to) {
      T product{};
      for (size_t i = rank; i < v.size(); ++i) product += Conjugate(v[i]) * to[i];
      product *= 2 / square;
      for (size_t i = rank; i < v.size(); ++i) to[i] -= product * v[i];
    };
    for (size_t j = rank; j < columns.size(); ++j) apply(columns[j]);
    apply(b);
  }
};

template <typename T>
cusolverStatus_t LsqvqrHost(const char*, cusolverSpHandle_t h, int m, int n, int nnz,
                            cusparseMatDescr_t descr, const T* values, const int* begins, const int* columns,
                            const T* b, Real<T> tolerance, int* rank, T* x, int* p, Real<T>* norm) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, m >= n, nnz > 0, values != nullptr, begins != nullptr,
                                     columns != nullptr, b != nullptr, rank != nullptr, x != nullptr,
                                     p != nullptr, norm != nullptr))
    return wrong;
  if (!IsMatrix(m, n, nnz, begins, columns, descr->base)) return CUSOLVER_STATUS_INTERNAL_ERROR;
  RankedQr<T> factors{Dense(m, n, descr->base, values, begins, columns), std::vector<T>(b, b + m), {}};
  factors.Factor(tolerance);
  factors.Solve(x);
  *rank = static_cast<int>(factors.rank);
  *norm = NormFrom(factors.rank, factors.b);
  std::ranges::copy(factors.order, p);
  return CUSOLVER_STATUS_SUCCESS;
}

template <typename T>
cusolverStatus_t EigsHost(const char* name, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                          const T* values, const int* begins, const int* columns, std::complex<Real<T>> low,
                          std::complex<Real<T>> high, int* count) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, begins != nullptr,
                                     columns != nullptr, count != nullptr))
    return wrong;
  if (!IsMatrix(n, n, nnz, begins, columns, descr->base)) return CUSOLVER_STATUS_INTERNAL_ERROR;
  if (!libraries::LoadBlas(name)) return CUSOLVER_STATUS_NOT_SUPPORTED;
  std::vector<T> a;
  for (const auto& column : Dense(n, n, descr->base, values, begins, columns))
    a.insert(a.end(), column.begin(), column.end());
  std::vector<std::complex<Real<T>>> found(static_cast<size_t>(n));
  if (GeneralEigenVectors<T>(false, n, a.data(), n, found.data(), nullptr, 1) != 0)
    return CUSOLVER_STATUS_INTERNAL_ERROR;
  *count = static_cast<int>(std::ranges::count_if(found, [&](const auto& value) {
    return value.real() >= low.real() && value.real() <= high.real() && value.imag() >= low.imag() &&
           value.imag() <= high.imag();
  }));
  return CUSOLVER_STATUS_SUCCESS;
}

// Row p[i] of the matrix has an element in column i, for as many i as can be: H. Kuhn, The Hungarian Method
// for the Assignment Problem (1955), without weights. Rows without a column of their own fill the rest.
template <typename T>
cusolverStatus_t ZfdHost(const char*, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                         const T* values, const int* begins, const int* columns, int* p, int* count) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, begins != nullptr,
                                     columns != nullptr, p != nullptr, count != nullptr))
    return wrong;
  const int base = descr->base;
  if (!IsMatrix(n, n, nnz, begins, columns, base)) return CUSOLVER_STATUS_INTERNAL_ERROR;
  *count = MatchRows(n, begins, columns, base, p);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusolver
