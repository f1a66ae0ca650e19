// Eigenvalues of symmetric and Hermitian matrices, ascending; vectors replace the matrix.
#pragma once

#include "runtime/cuda/libraries/solver/singular.h"

struct ptx2cpu::cuda::syevjInfo {
  double tolerance = 0;
  int max_sweeps = 100;
  bool sorts = true;
  std::shared_ptr<ptx2cpu::cusolver::JacobiState> state = std::make_shared<ptx2cpu::cusolver::JacobiState>();
};

namespace ptx2cpu::cusolver {

inline cusolverStatus_t CheckEigen(cusolverDnHandle_t h, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n,
                                   int lda) {
  return Check(h, IsRight(jobz), IsRight(uplo), n >= 0, LeadingIs(lda, n));
}
template <typename T>
cusolverStatus_t SyevdSize(const char*, cusolverDnHandle_t h, cusolverEigMode_t, cublasFillMode_t, int,
                           const T*, int, const Real<T>*, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Syevd(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz, cublasFillMode_t uplo,
                       int n, T* a, int lda, Real<T>* w, T*, int, int* info) {
  if (const cusolverStatus_t wrong = CheckEigen(h, jobz, uplo, n, lda)) return wrong;
  return OnStream(h, name, [=] { Note(info, EigenValues(jobz, uplo, n, a, lda, w)); });
}

template <typename T>
cusolverStatus_t CheckSelection(cusolverDnHandle_t h, const Selection<T>& s, int n, const int* found) {
  const bool numbers = s.range != CUSOLVER_EIG_RANGE_I || (s.il >= 1 && s.il <= s.iu && s.iu <= n);
  const bool interval = s.range != CUSOLVER_EIG_RANGE_V || s.vl < s.vu;
  return Check(h, IsRight(s.range), numbers, interval, found != nullptr);
}
template <typename T>
cusolverStatus_t SyevdxSize(const char*, cusolverDnHandle_t h, cusolverEigMode_t, cusolverEigRange_t,
                            cublasFillMode_t, int, const T*, int, Real<T>, Real<T>, int, int, int*,
                            const Real<T>*, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Syevdx(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz,
                        cusolverEigRange_t range, cublasFillMode_t uplo, int n, T* a, int lda, Real<T> vl,
                        Real<T> vu, int il, int iu, int* found, Real<T>* w, T*, int, int* info) {
  const Selection<T> selection{range, vl, vu, il, iu};
  if (const cusolverStatus_t wrong = CheckEigen(h, jobz, uplo, n, lda)) return wrong;
  if (const cusolverStatus_t wrong = CheckSelection(h, selection, n, found)) return wrong;
  return OnStreamAndWait(
      h, name, [=] { Note(info, SelectedEigenValues(jobz, selection, uplo, n, a, lda, found, w)); });
}

template <typename T>
cusolverStatus_t SygvdSize(const char*, cusolverDnHandle_t h, cusolverEigType_t, cusolverEigMode_t,
                           cublasFillMode_t, int, const T*, int, const T*, int, const Real<T>*, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Sygvd(const char* name, cusolverDnHandle_t h, cusolverEigType_t type, cusolverEigMode_t jobz,
                       cublasFillMode_t uplo, int n, T* a, int lda, T* b, int ldb, Real<T>* w, T*, int,
                       int* info) {
  if (const cusolverStatus_t wrong = CheckEigen(h, jobz, uplo, n, lda)) return wrong;
  if (!IsRight(type) || !LeadingIs(ldb, n)) return CUSOLVER_STATUS_INVALID_VALUE;
  return OnStream(h, name, [=] { Note(info, GeneralEigenValues(type, jobz, uplo, n, a, lda, b, ldb, w)); });
}
template <typename T>
cusolverStatus_t SygvdxSize(const char*, cusolverDnHandle_t h, cusolverEigType_t, cusolverEigMode_t,
                            cusolverEigRange_t, cublasFillMode_t, int, const T*, int, const T*, int, Real<T>,
                            Real<T>, int, int, int*, const Real<T>*, int* size) {
  return ReportSize(h, size);
}
// All of them are found; those that were asked for become the first.
template <typename T>
cusolverStatus_t Sygvdx(const char* name, cusolverDnHandle_t h, cusolverEigType_t type,
                        cusolverEigMode_t jobz, cusolverEigRange_t range, cublasFillMode_t uplo, int n, T* a,
                        int lda, T* b, int ldb, Real<T> vl, Real<T> vu, int il, int iu, int* found,
                        Real<T>* w, T*, int, int* info) {
  const Selection<T> s{range, vl, vu, il, iu};
  if (const cusolverStatus_t wrong = CheckEigen(h, jobz, uplo, n, lda)) return wrong;
  if (const cusolverStatus_t wrong = CheckSelection(h, s, n, found)) return wrong;
  if (!IsRight(type) || !LeadingIs(ldb, n)) return CUSOLVER_STATUS_INVALID_VALUE;
  return OnStreamAndWait(h, name, [=] {
    Note(info, GeneralEigenValues(type, jobz, uplo, n, a, lda, b, ldb, w));
    int count = 0;
    for (int j = 0; j < n; ++j) {
      const bool wanted = range == CUSOLVER_EIG_RANGE_ALL ||
                          (range == CUSOLVER_EIG_RANGE_I ? j + 1 >= il && j < iu : w[j] > vl && w[j] <= vu);
      if (!wanted) continue;
      w[count] = w[j];
      if (jobz == CUSOLVER_EIG_MODE_VECTOR && count != j)
        std::copy_n(a + int64_t{j} * lda, n, a + int64_t{count} * lda);
      ++count;
    }
    *found = count;
  });
}

template <typename T>
cusolverStatus_t SyevjSize(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz,
                           cublasFillMode_t uplo, int n, const T* a, int lda, const Real<T>* w, int* size,
                           syevjInfo* params) {
  if (params == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return SyevdSize<T>(name, h, jobz, uplo, n, a, lda, w, size);
}
// One matrix; reports the residual if there are vectors.
template <typename T>
int DiagonaliseOnce(cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a, int lda, Real<T>* w,
                    JacobiState& state) {
  const bool vectors = jobz == CUSOLVER_EIG_MODE_VECTOR;
  std::vector<T> before(vectors ? static_cast<size_t>(n) * static_cast<size_t>(n) : 0);
  for (int j = 0; vectors && j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const bool stored = uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
      before[i + size_t(j) * size_t(n)] =
          stored ? a[i + int64_t{j} * lda] : Conjugate(a[j + int64_t{i} * lda]);
    }
  }
  const int info = EigenValues(jobz, uplo, n, a, lda, w);
  if (vectors) state.residual = ResidualOf(n, n, n, before.data(), std::max(1, n), w, a, lda, a, lda);
  return info;
}
template <typename T>
cusolverStatus_t Syevj(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz, cublasFillMode_t uplo,
                       int n, T* a, int lda, Real<T>* w, T*, int, int* info, syevjInfo* params) {
  if (const cusolverStatus_t wrong = CheckEigen(h, jobz, uplo, n, lda)) return wrong;
  if (params == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return OnStream(
      h, name, [=, state = params->state] { Note(info, DiagonaliseOnce(jobz, uplo, n, a, lda, w, *state)); });
}
template <typename T>
cusolverStatus_t SyevjBatchedSize(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz,
                                  cublasFillMode_t uplo, int n, const T* a, int lda, const Real<T>* w,
                                  int* size, syevjInfo* params, int count) {
  if (count < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  return SyevjSize<T>(name, h, jobz, uplo, n, a, lda, w, size, params);
}
template <typename T>
cusolverStatus_t SyevjBatched(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz,
                              cublasFillMode_t uplo, int n, T* a, int lda, Real<T>* w, T*, int, int* info,
                              syevjInfo* params, int count) {
  if (const cusolverStatus_t wrong = CheckEigen(h, jobz, uplo, n, lda)) return wrong;
  if (params == nullptr || count < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  return OnStream(h, name, [=, state = params->state] {
    ForBatch(count, n, [&](int64_t i) {
      info[i] = DiagonaliseOnce(jobz, uplo, n, a + i * lda * n, lda, w + i * n, *state);
    });
  });
}
template <typename T>
cusolverStatus_t SygvjSize(const char* name, cusolverDnHandle_t h, cusolverEigType_t type,
                           cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, const T* a, int lda,
                           const T* b, int ldb, const Real<T>* w, int* size, syevjInfo* params) {
  if (params == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return SygvdSize<T>(name, h, type, jobz, uplo, n, a, lda, b, ldb, w, size);
}
template <typename T>
cusolverStatus_t Sygvj(const char* name, cusolverDnHandle_t h, cusolverEigType_t type, cusolverEigMode_t jobz,
                       cublasFillMode_t uplo, int n, T* a, int lda, T* b, int ldb, Real<T>* w, T* work,
                       int lwork, int* info, syevjInfo* params) {
  if (params == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return Sygvd(name, h, type, jobz, uplo, n, a, lda, b, ldb, w, work, lwork, info);
}

}  // namespace ptx2cpu::cusolver
