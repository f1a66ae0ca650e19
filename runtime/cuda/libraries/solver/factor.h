// Factorisations and the systems that they solve. Matrices, pivots and states are on the device.
#pragma once

#include "runtime/cuda/libraries/solver/lapack.h"

namespace ptx2cpu::cusolver {

// body(i) for the members of a batch, which are small.
template <typename Body>
void ForBatch(int count, int n, const Body& body) {
  libraries::ForRanges(count, std::max<int64_t>(1, (1 << 15) / (int64_t{n} * n * n + 1)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i) body(i);
                       });
}

template <typename T>
cusolverStatus_t TriangleSize(const char*, cusolverDnHandle_t h, cublasFillMode_t uplo, int, T*, int,
                              int* size) {
  if (!IsRight(uplo)) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Potrf(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda,
                       T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) {
    const int position = !IsRight(uplo) ? 1 : n < 0 ? 2 : 4;
    if (h != nullptr) OnStream(h, name, [=] { Note(info, -position); });
    return wrong;
  }
  return OnStream(h, name, [=] { Note(info, Cholesky(uplo, n, a, lda)); });
}
// The inverse from the factor.
template <typename T>
cusolverStatus_t Potri(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda,
                       T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) return wrong;
  return OnStream(h, name, [=] {
    int state = 0;
    Blas<"potri", T>(Letter(uplo), n, a, lda, &state);
    Note(info, state);
  });
}
// U U^H or L^H L.
template <typename T>
cusolverStatus_t Lauum(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda,
                       T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) return wrong;
  return OnStream(h, name, [=] {
    int state = 0;
    Blas<"lauum", T>(Letter(uplo), n, a, lda, &state);
    Note(info, state);
  });
}
template <typename T>
cusolverStatus_t Potrs(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, int columns,
                       const T* a, int lda, T* b, int ldb, int* info) {
  if (const cusolverStatus_t wrong =
          Check(h, IsRight(uplo), n >= 0, columns >= 0, LeadingIs(lda, n), LeadingIs(ldb, n)))
    return wrong;
  return OnStream(h, name, [=] { Note(info, SolveCholesky(uplo, n, columns, a, lda, b, ldb)); });
}
template <typename T>
cusolverStatus_t PotrfBatched(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n,
                              T* const a[], int lda, int* info, int count) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n), count >= 0))
    return wrong;
  return OnStream(h, name,
                  [=] { ForBatch(count, n, [&](int64_t i) { info[i] = Cholesky(uplo, n, a[i], lda); }); });
}
template <typename T>
cusolverStatus_t PotrsBatched(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n,
                              int columns, T* const a[], int lda, T* const b[], int ldb, int* info,
                              int count) {
  if (const cusolverStatus_t wrong =
          Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n), LeadingIs(ldb, n), count >= 0))
    return wrong;
  if (columns != 1) return CUSOLVER_STATUS_INVALID_VALUE;  // as documented
  return OnStream(h, name, [=] {
    ForBatch(count, n, [&](int64_t i) { SolveCholesky<T>(uplo, n, columns, a[i], lda, b[i], ldb); });
    Note(info, 0);
  });
}

template <typename T>
cusolverStatus_t RectangleSize(const char*, cusolverDnHandle_t h, int, int, T*, int, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Getrf(const char* name, cusolverDnHandle_t h, int m, int n, T* a, int lda, T*, int* pivots,
                       int* info) {
  if (const cusolverStatus_t wrong = Check(h, m >= 0, n >= 0, LeadingIs(lda, m))) return wrong;
  return OnStream(h, name, [=] { Note(info, Lu(m, n, a, lda, pivots)); });
}
template <typename T>
cusolverStatus_t Getrs(const char* name, cusolverDnHandle_t h, cublasOperation_t op, int n, int columns,
                       const T* a, int lda, const int* pivots, T* b, int ldb, int* info) {
  if (const cusolverStatus_t wrong =
          Check(h, IsRight(op), n >= 0, columns >= 0, LeadingIs(lda, n), LeadingIs(ldb, n)))
    return wrong;
  return OnStream(h, name, [=] { Note(info, SolveLu(op, n, columns, a, lda, pivots, b, ldb)); });
}
template <typename T>
cusolverStatus_t Laswp(const char* name, cusolverDnHandle_t h, int n, T* a, int lda, int k1, int k2,
                       const int* pivots, int step) {
  if (const cusolverStatus_t wrong = Check(h, n >= 0, lda >= 1, k1 >= 1, k2 >= k1, step != 0)) return wrong;
  return OnStream(h, name, [=] { Blas<"laswp", T>(n, a, lda, k1, k2, pivots, step); });
}

// Systems that the original solves with factors of lower precision and refinement: here with factors of the
// precision of the result, without a refinement, which is what 0 iterations mean. The matrix remains as it
// is, as where a refinement converges.
template <typename T>
void CopyColumns(int rows, int columns, const T* from, int ld_from, T* to, int ld_to) {
  for (int j = 0; j < columns; ++j) std::copy_n(from + int64_t{j} * ld_from, rows, to + int64_t{j} * ld_to);
}
template <typename T>
std::unique_ptr<T[]> CopyOf(int rows, int columns, const T* from, int ld) {
  auto copy = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(std::max(1, rows)) *
                                                  static_cast<size_t>(std::max(1, columns)));
  CopyColumns(rows, columns, from, ld, copy.get(), std::max(1, rows));
  return copy;
}
// `pivots` null: they are not reported. LAPACK's info.
template <typename T>
int SolveSystem(int n, int columns, const T* a, int lda, int* pivots, const T* b, int ldb, T* x, int ldx) {
  const auto factor = CopyOf(n, n, a, lda);
  std::vector<int> own(static_cast<size_t>(n));
  int* const order = pivots == nullptr ? own.data() : pivots;
  const int info = Lu(n, n, factor.get(), std::max(1, n), order);
  if (info != 0) return info;
  CopyColumns(n, columns, b, ldb, x, ldx);
  SolveLu<T>(CUBLAS_OP_N, n, columns, factor.get(), std::max(1, n), order, x, ldx);
  return 0;
}
// The least squares of B - A X.
template <typename T>
int SolveLeastSquares(int m, int n, int columns, const T* a, int lda, const T* b, int ldb, T* x, int ldx) {
  const auto factor = CopyOf(m, n, a, lda), right = CopyOf(m, columns, b, ldb);
  const int ld = std::max(1, m);
  const int info = WithWork<"gels", T>('N', m, n, columns, factor.get(), ld, right.get(), ld);
  if (info == 0) CopyColumns(n, columns, right.get(), ld, x, ldx);
  return info;
}

// As recorded, wrong arguments are wrong parameters of a refinement, before there is one.
inline cusolverStatus_t ReportSizeOfSystem(cusolverDnHandle_t h, cusolverStatus_t wrong, size_t* size) {
  if (wrong == CUSOLVER_STATUS_INVALID_VALUE) return CUSOLVER_STATUS_IRS_PARAMS_INVALID;
  return wrong != CUSOLVER_STATUS_SUCCESS ? wrong : ReportSize(h, size);
}
template <typename T>
cusolverStatus_t GesvSize(const char*, cusolverDnHandle_t h, int n, int columns, T*, int lda, int*, T*,
                          int ldb, T*, int ldx, void*, size_t* size) {
  return ReportSizeOfSystem(
      h, Check(h, n >= 0, columns >= 0, LeadingIs(lda, n), LeadingIs(ldb, n), LeadingIs(ldx, n)), size);
}
template <typename T>
cusolverStatus_t Gesv(const char* name, cusolverDnHandle_t h, int n, int columns, T* a, int lda, int* pivots,
                      T* b, int ldb, T* x, int ldx, void*, size_t, int* iterations, int* info) {
  if (const cusolverStatus_t wrong = Check(h, n >= 0, columns >= 0, LeadingIs(lda, n), LeadingIs(ldb, n),
                                           LeadingIs(ldx, n), iterations != nullptr))
    return wrong;
  *iterations = 0;
  return OnStreamAndWait(h, name,
                         [=] { Note(info, SolveSystem<T>(n, columns, a, lda, pivots, b, ldb, x, ldx)); });
}
template <typename T>
cusolverStatus_t GelsSize(const char*, cusolverDnHandle_t h, int m, int n, int columns, T*, int lda, T*,
                          int ldb, T*, int ldx, void*, size_t* size) {
  return ReportSizeOfSystem(
      h, Check(h, m >= n, n >= 0, columns >= 0, LeadingIs(lda, m), LeadingIs(ldb, m), LeadingIs(ldx, n)),
      size);
}
template <typename T>
cusolverStatus_t Gels(const char* name, cusolverDnHandle_t h, int m, int n, int columns, T* a, int lda, T* b,
                      int ldb, T* x, int ldx, void*, size_t, int* iterations, int* info) {
  if (const cusolverStatus_t wrong = Check(h, m >= n, n >= 0, columns >= 0, LeadingIs(lda, m),
                                           LeadingIs(ldb, m), LeadingIs(ldx, n), iterations != nullptr))
    return wrong;
  *iterations = 0;
  return OnStreamAndWait(h, name,
                         [=] { Note(info, SolveLeastSquares<T>(m, n, columns, a, lda, b, ldb, x, ldx)); });
}

template <typename T>
cusolverStatus_t SytrfSize(const char*, cusolverDnHandle_t h, int, T*, int, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Sytrf(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda,
                       int* pivots, T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n), pivots != nullptr))
    return wrong;
  return OnStream(h, name, [=] { Note(info, WithWork<"sytrf", T>(Letter(uplo), n, a, lda, pivots)); });
}
template <typename T>
cusolverStatus_t SytriSize(const char*, cusolverDnHandle_t h, cublasFillMode_t, int, T*, int, const int*,
                           int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Sytri(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda,
                       const int* pivots, T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) return wrong;
  return OnStream(h, name, [=] {
    std::vector<T> work(2 * static_cast<size_t>(std::max(1, n)));
    int state = 0;
    Blas<"sytri", T>(Letter(uplo), n, a, lda, pivots, work.data(), &state);
    Note(info, state);
  });
}

template <typename T>
cusolverStatus_t Geqrf(const char* name, cusolverDnHandle_t h, int m, int n, T* a, int lda, T* tau, T*, int,
                       int* info) {
  if (const cusolverStatus_t wrong = Check(h, m >= 0, n >= 0, LeadingIs(lda, m))) return wrong;
  return OnStream(h, name, [=] { Note(info, WithWork<"geqrf", T>(m, n, a, lda, tau)); });
}
template <typename T>
cusolverStatus_t OrgqrSize(const char*, cusolverDnHandle_t h, int, int, int, const T*, int, const T*,
                           int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Orgqr(const char* name, cusolverDnHandle_t h, int m, int n, int k, T* a, int lda,
                       const T* tau, T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, m >= n, n >= k, k >= 0, LeadingIs(lda, m))) return wrong;
  return OnStream(h, name, [=] { Note(info, WithWork<"orgqr", "ungqr", T>(m, n, k, a, lda, tau)); });
}
template <typename T>
cusolverStatus_t CheckOrmqr(cusolverDnHandle_t h, cublasSideMode_t side, cublasOperation_t op, int m, int n,
                            int k, int lda, int ldc) {
  const int rows = side == CUBLAS_SIDE_LEFT ? m : n;
  return Check(h, IsRight(side), IsRight(op), m >= 0, n >= 0, k >= 0, k <= rows, LeadingIs(lda, rows),
               LeadingIs(ldc, m), op != (kIsComplex<T> ? CUBLAS_OP_T : CUBLAS_OP_C));
}
template <typename T>
cusolverStatus_t OrmqrSize(const char*, cusolverDnHandle_t h, cublasSideMode_t, cublasOperation_t, int, int,
                           int, const T*, int, const T*, const T*, int, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Ormqr(const char* name, cusolverDnHandle_t h, cublasSideMode_t side, cublasOperation_t op,
                       int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, T*, int,
                       int* info) {
  if (const cusolverStatus_t wrong = CheckOrmqr<T>(h, side, op, m, n, k, lda, ldc)) return wrong;
  return OnStream(h, name, [=] {
    Note(info, WithWork<"ormqr", "unmqr", T>(Letter(side), Letter<T>(op), m, n, k, a, lda, tau, c, ldc));
  });
}

}  // namespace ptx2cpu::cusolver
