// Factors of sparse matrices on their own: analysis, factors, pivots, solutions as calls that follow each
// other, with an info between them. Functions whose infos are of the host compute at once; the others are
// work of the stream.
#pragma once

#include <variant>

#include "runtime/cuda/libraries/solver/sparse_solve.h"

namespace ptx2cpu::cusolver {

// What an info points to: the factors of one matrix, of the type of the functions that made them.
template <template <typename> typename Factors, bool on_host>
struct FactorInfo {
  static constexpr bool kOnHost = on_host;
  int rows = 0, columns = 0, nnz = 0, base = 0;  // of the analysed matrix
  std::variant<std::monostate, Factors<float>, Factors<double>, Factors<std::complex<float>>,
               Factors<std::complex<double>>>
      factors;
  int singular = -1;  // where the factors end

  bool Is(int m, int n, int elements) const { return m == rows && n == columns && elements == nnz; }
  // Null: functions of this type made none.
  template <typename T>
  Factors<T>* Of() {
    return std::get_if<Factors<T>>(&factors);
  }
};
template <typename T>
struct QrFactors {
  SparseRows<T> rows;  // of the matrix
  SparseQr<T> qr = SparseQr<T>();
};

}  // namespace ptx2cpu::cusolver

struct ptx2cpu::cuda::csrqrInfo : cusolver::FactorInfo<cusolver::QrFactors, false> {};
struct ptx2cpu::cuda::csrqrInfoHost : cusolver::FactorInfo<cusolver::QrFactors, true> {};
struct ptx2cpu::cuda::csrluInfoHost : cusolver::FactorInfo<cusolver::SparseLu, true> {};
struct ptx2cpu::cuda::csrcholInfo : cusolver::FactorInfo<cusolver::SparseCholesky, false> {};
struct ptx2cpu::cuda::csrcholInfoHost : cusolver::FactorInfo<cusolver::SparseCholesky, true> {};

namespace ptx2cpu::cusolver {

template <typename Info, typename Run>
cusolverStatus_t Do(cusolverSpHandle_t h, const char* name, const Info*, Run&& run) {
  if constexpr (Info::kOnHost) {
    run();
    return CUSOLVER_STATUS_SUCCESS;
  } else {
    return FromDriver(libraries::Submit(h->stream, name, std::forward<Run>(run)));
  }
}
template <typename Info, typename Run>
cusolverStatus_t DoNow(cusolverSpHandle_t h, const char* name, const Info* info, Run&& run) {
  const cusolverStatus_t status = Do(h, name, info, std::forward<Run>(run));
  if (Info::kOnHost || status != CUSOLVER_STATUS_SUCCESS) return status;
  return FromDriver(libraries::Synchronize(h->stream));
}

template <typename Info>
cusolverStatus_t Analyse(const char* name, cusolverSpHandle_t h, int m, int n, int nnz,
                         cusparseMatDescr_t descr, const int* begins, const int* columns, Info* info) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, m >= n, nnz > 0, begins != nullptr, columns != nullptr,
                                     info != nullptr))
    return wrong;
  bool is_matrix = false;
  const auto done = DoNow(h, name, info, [=, base = descr->base, &is_matrix] {
    is_matrix = IsMatrix(m, n, nnz, begins, columns, base);
  });
  if (done != CUSOLVER_STATUS_SUCCESS) return done;
  if (!is_matrix) return CUSOLVER_STATUS_INTERNAL_ERROR;
  info->rows = m, info->columns = n, info->nnz = nnz, info->base = descr->base;
  info->factors = std::monostate(), info->singular = -1;
  return CUSOLVER_STATUS_SUCCESS;
}
inline cusolverStatus_t ReportSizes(cusolverStatus_t wrong, size_t* internal, size_t* workspace) {
  if (wrong == CUSOLVER_STATUS_SUCCESS) *internal = *workspace = 64;
  return wrong;
}

// Whether functions may use the factors of an info now: of a device they may still be made.
template <typename T, typename Info>
cusolverStatus_t CheckFactors(cusolverSpHandle_t h, Info* info) {
  return Check(h, info != nullptr && info->template Of<T>() != nullptr);
}

// The first pivot that is not larger than the tolerance, of the matrix as far as it has factors.
template <typename T, typename Info, typename Find>
cusolverStatus_t WritePivot(const char* name, cusolverSpHandle_t h, Info* info, int* position, Find find) {
  if (const auto wrong = Check(h, position != nullptr)) return wrong;
  if (const auto wrong = CheckFactors<T>(h, info)) return wrong;
  return DoNow(h, name, info, [=] {
    const int found = find(*info->template Of<T>());
    *position = found >= 0 ? found : info->singular;
  });
}
template <typename Pivots, typename R>
int FirstSmall(const Pivots& pivots, R tolerance) {
  const auto at =
      std::ranges::find_if(pivots, [&](const auto& pivot) { return !(std::abs(pivot) > tolerance); });
  return at == pivots.end() ? -1 : static_cast<int>(at - pivots.begin());
}
// By factors that are complete; of a matrix that has none, x stays as it is.
template <typename T, typename Info>
cusolverStatus_t SolveBy(const char* name, cusolverSpHandle_t h, int n, const T* b, T* x, Info* info) {
  if (const auto wrong = Check(h, n > 0, b != nullptr, x != nullptr)) return wrong;
  if (const auto wrong = CheckFactors<T>(h, info)) return wrong;
  if (n != info->rows) return CUSOLVER_STATUS_INVALID_VALUE;
  return Do(h, name, info, [=] {
    if (info->singular >= 0) return;
    std::vector<T> values(b, b + n);
    info->template Of<T>()->Solve(values);
    std::ranges::copy(values, x);
  });
}

// QR. The matrix is read by Setup, which subtracts mu from its diagonal.
template <typename T, typename Info>
cusolverStatus_t CsrqrBufferInfo(const char*, cusolverSpHandle_t h, int m, int n, int nnz,
                                 cusparseMatDescr_t descr, const T* values, const int*, const int*,
                                 Info* info, size_t* internal, size_t* workspace) {
  return ReportSizes(CheckSparse(h, descr, n > 0, m >= n, nnz > 0, values != nullptr, info != nullptr,
                                 internal != nullptr, workspace != nullptr),
                     internal, workspace);
}
template <typename T, typename Info>
cusolverStatus_t CsrqrSetup(const char* name, cusolverSpHandle_t h, int m, int n, int nnz,
                            cusparseMatDescr_t descr, const T* values, const int* begins, const int* columns,
                            T mu, Info* info) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, m >= n, nnz > 0, values != nullptr, begins != nullptr,
                                     columns != nullptr, info != nullptr))
    return wrong;
  if (!info->Is(m, n, nnz)) return CUSOLVER_STATUS_INVALID_VALUE;
  return DoNow(h, name, info, [=, base = descr->base] {
    SparseRows<T> rows = RowsOf(m, begins, columns, values, base);
    if (mu != T{}) SubtractFromDiagonal(rows, mu);
    info->factors.template emplace<QrFactors<T>>().rows = std::move(rows);
  });
}
// With a right-hand side, this also computes a solution.
template <typename T, typename Info>
cusolverStatus_t CsrqrFactor(const char* name, cusolverSpHandle_t h, int m, int n, int nnz, T* b, T* x,
                             Info* info, void*) {
  if (const auto wrong = CheckFactors<T>(h, info)) return wrong;
  if (!info->Is(m, n, nnz)) return CUSOLVER_STATUS_INVALID_VALUE;
  return Do(h, name, info, [=] {
    QrFactors<T>& factors = *info->template Of<T>();
    factors.qr = SparseQr<T>(n);
    for (const auto& row : factors.rows) factors.qr.Add(row);
    std::vector<T> solution;
    if (b != nullptr && x != nullptr && factors.qr.Solve(b, 0, solution) < 0) std::ranges::copy(solution, x);
  });
}
template <typename T, typename Info>
cusolverStatus_t CsrqrZeroPivot(const char* name, cusolverSpHandle_t h, Info* info, Real<T> tolerance,
                                int* position) {
  return WritePivot<T>(name, h, info, position,
                       [=](const QrFactors<T>& factors) { return factors.qr.Singularity(tolerance); });
}
template <typename T, typename Info>
cusolverStatus_t CsrqrSolve(const char* name, cusolverSpHandle_t h, int m, int n, T* b, T* x, Info* info,
                            void*) {
  if (const auto wrong = Check(h, b != nullptr, x != nullptr)) return wrong;
  if (const auto wrong = CheckFactors<T>(h, info)) return wrong;
  if (m != info->rows || n != info->columns) return CUSOLVER_STATUS_INVALID_VALUE;
  return Do(h, name, info, [=] {
    std::vector<T> solution;
    if (info->template Of<T>()->qr.Solve(b, 0, solution) < 0) std::ranges::copy(solution, x);
  });
}

// LU, of the host only.
template <typename T>
cusolverStatus_t CsrluBufferInfo(const char*, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                                 const T* values, const int*, const int*, csrluInfoHost_t info,
                                 size_t* internal, size_t* workspace) {
  return ReportSizes(CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, info != nullptr,
                                 internal != nullptr, workspace != nullptr),
                     internal, workspace);
}
template <typename T>
cusolverStatus_t CsrluFactor(const char*, cusolverSpHandle_t h, int n, int nnz, cusparseMatDescr_t descr,
                             const T* values, const int* begins, const int* columns, csrluInfoHost_t info,
                             Real<T> threshold, void*) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, begins != nullptr,
                                     columns != nullptr, info != nullptr))
    return wrong;
  if (!info->Is(n, n, nnz)) return CUSOLVER_STATUS_INVALID_VALUE;
  SparseLu<T>& factors = info->factors.template emplace<SparseLu<T>>(threshold, true);
  info->singular = factors.Factor(RowsOf(n, begins, columns, values, descr->base), 0);
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename T>
cusolverStatus_t CsrluZeroPivot(const char* name, cusolverSpHandle_t h, csrluInfoHost_t info,
                                Real<T> tolerance, int* position) {
  return WritePivot<T>(name, h, info, position,
                       [=](const SparseLu<T>& factors) { return FirstSmall(factors.diagonal(), tolerance); });
}
template <typename T>
cusolverStatus_t CsrluSolve(const char* name, cusolverSpHandle_t h, int n, const T* b, T* x,
                            csrluInfoHost_t info, void*) {
  return SolveBy<T>(name, h, n, b, x, info);
}
template <typename T>
void WriteRows(const SparseRows<T>& rows, int base, T* values, int* begins, int* columns) {
  int count = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    begins[i] = count + base;
    for (const auto& [column, value] : rows[i]) columns[count] = column + base, values[count++] = value;
  }
  begins[rows.size()] = count + base;
}
// P A Q^T = L U; columns are in their own order. The ones on the diagonal of L are not elements of it.
template <typename T>
cusolverStatus_t CsrluExtract(const char*, cusolverSpHandle_t h, int* p, int* q, cusparseMatDescr_t l_descr,
                              T* l_values, int* l_begins, int* l_columns, cusparseMatDescr_t u_descr,
                              T* u_values, int* u_begins, int* u_columns, csrluInfoHost_t info, void*) {
  if (const auto wrong =
          CheckSparse(h, l_descr, p != nullptr, q != nullptr, l_values != nullptr, l_begins != nullptr,
                      l_columns != nullptr, u_values != nullptr, u_begins != nullptr, u_columns != nullptr))
    return wrong;
  if (const auto wrong = CheckSparse(h, u_descr)) return wrong;
  if (const auto wrong = CheckFactors<T>(h, info)) return wrong;
  if (info->singular >= 0) return CUSOLVER_STATUS_INTERNAL_ERROR;
  const SparseLu<T>& factors = *info->Of<T>();
  std::ranges::copy(factors.rows(), p);
  for (int i = 0; i < info->columns; ++i) q[i] = i;
  WriteRows(factors.Lower(), l_descr->base, l_values, l_begins, l_columns);
  WriteRows(factors.Upper(), u_descr->base, u_values, u_begins, u_columns);
  return CUSOLVER_STATUS_SUCCESS;
}

// Cholesky.
template <typename T, typename Info>
cusolverStatus_t CsrcholBufferInfo(const char*, cusolverSpHandle_t h, int n, int nnz,
                                   cusparseMatDescr_t descr, const T* values, const int*, const int*,
                                   Info* info, size_t* internal, size_t* workspace) {
  return ReportSizes(CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, info != nullptr,
                                 internal != nullptr, workspace != nullptr),
                     internal, workspace);
}
template <typename T, typename Info>
cusolverStatus_t CsrcholFactor(const char* name, cusolverSpHandle_t h, int n, int nnz,
                               cusparseMatDescr_t descr, const T* values, const int* begins,
                               const int* columns, Info* info, void*) {
  if (const auto wrong = CheckSparse(h, descr, n > 0, nnz > 0, values != nullptr, begins != nullptr,
                                     columns != nullptr, info != nullptr))
    return wrong;
  if (!info->Is(n, n, nnz)) return CUSOLVER_STATUS_INVALID_VALUE;
  // The place of the factors is there before the work is queued: what is made there is work of the stream.
  if (info->template Of<T>() == nullptr) info->factors.template emplace<SparseCholesky<T>>();
  return Do(h, name, info, [=, base = descr->base] {
    info->singular = info->template Of<T>()->Factor(RowsOf(n, begins, columns, values, base), 0);
  });
}
template <typename T, typename Info>
cusolverStatus_t CsrcholZeroPivot(const char* name, cusolverSpHandle_t h, Info* info, Real<T> tolerance,
                                  int* position) {
  return WritePivot<T>(name, h, info, position, [=](const SparseCholesky<T>& factors) {
    return FirstSmall(factors.diagonal(), tolerance);
  });
}
template <typename T, typename Info>
cusolverStatus_t CsrcholSolve(const char* name, cusolverSpHandle_t h, int n, const T* b, T* x, Info* info,
                              void*) {
  return SolveBy<T>(name, h, n, b, x, info);
}
template <typename T>
cusolverStatus_t CsrcholDiag(const char* name, cusolverSpHandle_t h, csrcholInfo_t info, Real<T>* diagonal) {
  if (const auto wrong = Check(h, diagonal != nullptr)) return wrong;
  if (const auto wrong = CheckFactors<T>(h, info)) return wrong;
  return Do(h, name, info, [=] { std::ranges::copy(info->template Of<T>()->diagonal(), diagonal); });
}

}  // namespace ptx2cpu::cusolver
