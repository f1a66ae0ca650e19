// cusolverSp's systems and eigenvalues. Functions whose names end in Host compute at once, in host memory;
// the others are work of the stream, for which they wait, since they report to the host.
#pragma once

#include "runtime/cuda/libraries/solver/sparse_call.h"
#include "runtime/cuda/libraries/solver/sparse_factor.h"

namespace ptx2cpu::cusolver {

// A square matrix as a program passes it.
template <typename T>
struct SparseArrays {
  int n, base;
  const T* values;
  const int *begins, *columns;
};

// Right-hand sides and solutions in the order of the factors.
template <typename T>
std::vector<T> Ordered(const T* values, int n, const std::vector<int>& order) {
  std::vector<T> result(values, values + n);
  for (size_t i = 0; i < order.size(); ++i) result[i] = values[order[i]];
  return result;
}
template <typename T>
void Unordered(const std::vector<T>& values, const std::vector<int>& order, T* to) {
  for (size_t i = 0; i < values.size(); ++i)
    to[order.empty() ? i : static_cast<size_t>(order[i])] = values[i];
}

// By factors of the rows in `order`. Like all that solve, it returns the row that makes the matrix singular,
// or -1.
template <typename T, typename Factors>
int SolveByFactors(Factors factors, const SparseRows<T>& rows, const std::vector<int>& order, const T* b,
                   Real<T> tolerance, T* x) {
  const int singular = factors.Factor(rows, tolerance);
  if (singular >= 0) return singular;
  std::vector<T> values = Ordered(b, static_cast<int>(rows.size()), order);
  factors.Solve(values);
  Unordered(values, order, x);
  return -1;
}

template <typename T>
int SolveByLu(const SparseArrays<T>& a, const T* b, Real<T> tolerance, int reorder, T* x) {
  const auto order = OrderOf(reorder, a.n, a.begins, a.columns, a.base);
  return SolveByFactors(SparseLu<T>(), RowsOf(a.n, a.begins, a.columns, a.values, a.base, order), order, b,
                        tolerance, x);
}

template <typename T>
int SolveByQr(const SparseArrays<T>& a, const T* b, Real<T> tolerance, int reorder, T* x) {
  const auto order = OrderOf(reorder, a.n, a.begins, a.columns, a.base);
  SparseRows<T> rows = RowsOf(a.n, a.begins, a.columns, a.values, a.base, order);
  const std::vector<T> values = Ordered(b, a.n, order);
  SparseQr<T> factors(a.n);
  for (auto& row : rows) factors.Add(std::move(row));
  std::vector<T> solution;
  const int singular = factors.Solve(values.data(), tolerance, solution);
  if (singular < 0) Unordered(solution, order, x);
  return singular;
}

// Only the lower triangle of the matrix is read.
template <typename T>
int SolveByCholesky(const SparseArrays<T>& a, const T* b, Real<T> tolerance, int reorder, T* x) {
  const auto order = OrderOf(reorder, a.n, a.begins, a.columns, a.base);
  std::vector<int> place(static_cast<size_t>(a.n));
  for (int i = 0; i < a.n; ++i)
    place[static_cast<size_t>(order.empty() ? i : order[static_cast<size_t>(i)])] = i;
  SparseRows<T> rows(static_cast<size_t>(a.n));
  for (int row = 0; row < a.n; ++row) {
    for (int at = a.begins[row] - a.base; at < a.begins[row + 1] - a.base; ++at) {
      const int column = a.columns[at] - a.base;
      if (column > row) continue;
      const int i = place[static_cast<size_t>(row)], j = place[static_cast<size_t>(column)];
      rows[static_cast<size_t>(std::max(i, j))].emplace_back(std::min(i, j),
                                                             i >= j ? a.values[at] : Conjugate(a.values[at]));
    }
  }
  return SolveByFactors(SparseCholesky<T>(), rows, order, b, tolerance, x);
}

template <typename T>
using Solution = int (*)(const SparseArrays<T>&, const T*, Real<T>, int, T*);

template <typename T>
cusolverStatus_t CheckSystem(cusolverSpHandle_t h, cusparseMatDescr_t descr, int n, int nnz, const T* values,
                             const int* begins, const int* columns, const T* b, int reorder, T* x,
                             int* singularity) {
  return CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, begins != nullptr, columns != nullptr,
                     b != nullptr, IsOrder(reorder), x != nullptr, singularity != nullptr);
}

template <typename T>
cusolverStatus_t SolveOnHost(Solution<T> solve, cusolverSpHandle_t h, int n, int nnz,
                             cusparseMatDescr_t descr, const T* values, const int* begins, const int* columns,
                             const T* b, Real<T> tolerance, int reorder, T* x, int* singularity) {
  if (const auto wrong = CheckSystem(h, descr, n, nnz, values, begins, columns, b, reorder, x, singularity))
    return wrong;
  if (!IsMatrix(n, n, nnz, begins, columns, descr->base)) return CUSOLVER_STATUS_INTERNAL_ERROR;
  *singularity = solve({n, descr->base, values, begins, columns}, b, tolerance, reorder, x);
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename T>
cusolverStatus_t SolveOnDevice(Solution<T> solve, const char* name, cusolverSpHandle_t h, int n, int nnz,
                               cusparseMatDescr_t descr, const T* values, const int* begins,
                               const int* columns, const T* b, Real<T> tolerance, int reorder, T* x,
                               int* singularity) {
  if (const auto wrong = CheckSystem(h, descr, n, nnz, values, begins, columns, b, reorder, x, singularity))
    return wrong;
  const SparseArrays<T> a{n, descr->base, values, begins, columns};
  bool is_matrix = false;  // the arrays may be work of the stream
  const auto done = DoAndWait(h, name, [=, &is_matrix] {
    is_matrix = IsMatrix(n, n, nnz, begins, columns, a.base);
    if (is_matrix) *singularity = solve(a, b, tolerance, reorder, x);
  });
  return done == CUSOLVER_STATUS_SUCCESS && !is_matrix ? CUSOLVER_STATUS_INTERNAL_ERROR : done;
}

template <typename T>
cusolverStatus_t LsvluHost(const char*, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                           const T* values, const int* begins, const int* columns, const T* b,
                           Real<T> tolerance, int reorder, T* x, int* singularity) {
  return SolveOnHost<T>(SolveByLu<T>, h, n, nnz, descr, values, begins, columns, b, tolerance, reorder, x,
                        singularity);
}
template <typename T>
cusolverStatus_t LsvqrHost(const char*, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                           const T* values, const int* begins, const int* columns, const T* b,
                           Real<T> tolerance, int reorder, T* x, int* singularity) {
  return SolveOnHost<T>(SolveByQr<T>, h, n, nnz, descr, values, begins, columns, b, tolerance, reorder, x,
                        singularity);
}
template <typename T>
cusolverStatus_t Lsvqr(const char* name, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                       const T* values, const int* begins, const int* columns, const T* b, Real<T> tolerance,
                       int reorder, T* x, int* singularity) {
  return SolveOnDevice<T>(SolveByQr<T>, name, h, n, nnz, descr, values, begins, columns, b, tolerance,
                          reorder, x, singularity);
}
template <typename T>
cusolverStatus_t LsvcholHost(const char*, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                             const T* values, const int* begins, const int* columns, const T* b,
                             Real<T> tolerance, int reorder, T* x, int* singularity) {
  return SolveOnHost<T>(SolveByCholesky<T>, h, n, nnz, descr, values, begins, columns, b, tolerance, reorder,
                        x, singularity);
}
template <typename T>
cusolverStatus_t Lsvchol(const char* name, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                         const T* values, const int* begins, const int* columns, const T* b,
                         Real<T> tolerance, int reorder, T* x, int* singularity) {
  return SolveOnDevice<T>(SolveByCholesky<T>, name, h, n, nnz, descr, values, begins, columns, b, tolerance,
                          reorder, x, singularity);
}

template <typename T>
void SubtractFromDiagonal(SparseRows<T>& rows, T mu) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto at = std::ranges::lower_bound(rows[i], static_cast<int>(i), {}, &std::pair<int, T>::first);
    if (at != rows[i].end() && at->first == static_cast<int>(i)) {
      at->second -= mu;
    } else {
      rows[i].insert(at, {static_cast<int>(i), -mu});
    }
  }
}

// The eigenvalue next to mu0: x becomes the solution of (A - mu0) y = x, again and again.
template <typename T>
void InverseIteration(const SparseArrays<T>& a, T mu0, const T* x0, int iterations, Real<T> tolerance, T* mu,
                      T* x) {
  const auto n = static_cast<size_t>(a.n);
  const SparseRows<T> rows = RowsOf(a.n, a.begins, a.columns, a.values, a.base);
  SparseRows<T> shifted = rows;
  SubtractFromDiagonal(shifted, mu0);
  SparseLu<T> factors;
  std::vector<T> v(x0, x0 + a.n);
  const auto normalise = [&] {
    Real<T> sum = 0;
    for (const T& value : v) sum += std::norm(value);
    for (T& value : v) value /= std::sqrt(sum);
  };
  normalise();
  *mu = mu0;
  const bool regular = factors.Factor(shifted, 0) < 0;
  for (int iteration = 0; regular && iteration < iterations; ++iteration) {
    factors.Solve(v);
    normalise();
    T quotient{};
    std::vector<T> product(n);
    for (size_t i = 0; i < n; ++i) {
      for (const auto& [column, value] : rows[i]) product[i] += value * v[static_cast<size_t>(column)];
      quotient += Conjugate(v[i]) * product[i];
    }
    *mu = quotient;
    Real<T> residual = 0;
    for (size_t i = 0; i < n; ++i) residual += std::norm(product[i] - quotient * v[i]);
    if (std::sqrt(residual) < tolerance) break;
  }
  std::ranges::copy(v, x);
}

template <typename T>
cusolverStatus_t CheckEigen(cusolverSpHandle_t h, cusparseMatDescr_t descr, int n, int nnz, const T* values,
                            const int* begins, const int* columns, const T* x0, T* mu, T* x) {
  return CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, begins != nullptr, columns != nullptr,
                     x0 != nullptr, mu != nullptr, x != nullptr);
}
template <typename T>
cusolverStatus_t EigvsiHost(const char*, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                            const T* values, const int* begins, const int* columns, T mu0, const T* x0,
                            int iterations, Real<T> tolerance, T* mu, T* x) {
  if (const auto wrong = CheckEigen(h, descr, n, nnz, values, begins, columns, x0, mu, x)) return wrong;
  InverseIteration<T>({n, descr->base, values, begins, columns}, mu0, x0, iterations, tolerance, mu, x);
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename T>
cusolverStatus_t Eigvsi(const char* name, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                        const T* values, const int* begins, const int* columns, T mu0, const T* x0,
                        int iterations, Real<T> tolerance, T* mu, T* x) {
  if (const auto wrong = CheckEigen(h, descr, n, nnz, values, begins, columns, x0, mu, x)) return wrong;
  const SparseArrays<T> a{n, descr->base, values, begins, columns};
  return DoAndWait(h, name, [=] { InverseIteration<T>(a, mu0, x0, iterations, tolerance, mu, x); });
}

// Many matrices of the same places: least squares where there are more rows than columns.
template <typename T>
cusolverStatus_t CsrqrBuffers(const char*, cusolverSpHandle_t h, int m, int n, int nnz,
                              cusparseMatDescr_t descr, const T*, const int*, const int*, int batch,
                              csrqrInfo_t info, size_t* internal, size_t* workspace) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, m >= n, nnz > 0, batch > 0, info != nullptr,
                                     internal != nullptr, workspace != nullptr))
    return wrong;
  *internal = *workspace = 64;
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename T>
cusolverStatus_t CsrqrsvBatched(const char* name, cusolverSpHandle_t h, int m, int n, int nnz,
                                cusparseMatDescr_t descr, const T* values, const int* begins,
                                const int* columns, const T* b, T* x, int batch, csrqrInfo_t info, void*) {
  if (const auto wrong =
          CheckSparse(h, descr, n > 0, m >= n, nnz > 0, values != nullptr, begins != nullptr,
                      columns != nullptr, b != nullptr, x != nullptr, batch > 0, info != nullptr))
    return wrong;
  const int base = descr->base;
  return FromDriver(libraries::Submit(h->stream, name, [=] {
    libraries::ForEach(batch, [&](int64_t i) {
      SparseRows<T> rows = RowsOf(m, begins, columns, values + i * nnz, base);
      SparseQr<T> factors(n);
      for (auto& row : rows) factors.Add(std::move(row));
      std::vector<T> solution;
      if (factors.Solve(b + i * m, 0, solution) < 0) std::ranges::copy(solution, x + i * n);
    });
  }));
}

}  // namespace ptx2cpu::cusolver
