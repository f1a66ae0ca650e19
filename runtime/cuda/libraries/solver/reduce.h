// Reductions to three and to two diagonals, and the orthogonal matrices that made them.
#pragma once

#include "runtime/cuda/libraries/solver/lapack.h"

namespace ptx2cpu::cusolver {

template <typename T>
cusolverStatus_t SytrdSize(const char*, cusolverDnHandle_t h, cublasFillMode_t, int, const T*, int,
                           const Real<T>*, const Real<T>*, const T*, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Sytrd(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda,
                       Real<T>* d, Real<T>* e, T* tau, T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) return wrong;
  return OnStream(h, name,
                  [=] { Note(info, WithWork<"sytrd", "hetrd", T>(Letter(uplo), n, a, lda, d, e, tau)); });
}
template <typename T>
cusolverStatus_t OrgtrSize(const char*, cusolverDnHandle_t h, cublasFillMode_t, int, const T*, int, const T*,
                           int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Orgtr(const char* name, cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda,
                       const T* tau, T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(uplo), n >= 0, LeadingIs(lda, n))) return wrong;
  return OnStream(h, name, [=] { Note(info, WithWork<"orgtr", "ungtr", T>(Letter(uplo), n, a, lda, tau)); });
}
inline cusolverStatus_t CheckOrmtr(cusolverDnHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                                   cublasOperation_t op, int m, int n, int lda, int ldc) {
  return Check(h, IsRight(side), IsRight(uplo), IsRight(op), m >= 0, n >= 0,
               LeadingIs(lda, side == CUBLAS_SIDE_LEFT ? m : n), LeadingIs(ldc, m));
}
template <typename T>
cusolverStatus_t OrmtrSize(const char*, cusolverDnHandle_t h, cublasSideMode_t, cublasFillMode_t,
                           cublasOperation_t, int, int, const T*, int, const T*, const T*, int, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Ormtr(const char* name, cusolverDnHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                       cublasOperation_t op, int m, int n, T* a, int lda, T* tau, T* c, int ldc, T*, int,
                       int* info) {
  if (const cusolverStatus_t wrong = CheckOrmtr(h, side, uplo, op, m, n, lda, ldc)) return wrong;
  return OnStream(h, name, [=] {
    Note(info,
         WithWork<"ormtr", "unmtr", T>(Letter(side), Letter(uplo), Letter<T>(op), m, n, a, lda, tau, c, ldc));
  });
}
template <typename T>
cusolverStatus_t GebrdSize(const char*, cusolverDnHandle_t h, int, int, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Gebrd(const char* name, cusolverDnHandle_t h, int m, int n, T* a, int lda, Real<T>* d,
                       Real<T>* e, T* tau_q, T* tau_p, T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, n >= 0, m >= n, LeadingIs(lda, m))) return wrong;
  return OnStream(h, name, [=] { Note(info, WithWork<"gebrd", T>(m, n, a, lda, d, e, tau_q, tau_p)); });
}
template <typename T>
cusolverStatus_t OrgbrSize(const char*, cusolverDnHandle_t h, cublasSideMode_t, int, int, int, const T*, int,
                           const T*, int* size) {
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Orgbr(const char* name, cusolverDnHandle_t h, cublasSideMode_t side, int m, int n, int k,
                       T* a, int lda, const T* tau, T*, int, int* info) {
  if (const cusolverStatus_t wrong = Check(h, IsRight(side), m >= 0, n >= 0, k >= 0, LeadingIs(lda, m)))
    return wrong;
  const char which = side == CUBLAS_SIDE_LEFT ? 'Q' : 'P';
  return OnStream(h, name, [=] { Note(info, WithWork<"orgbr", "ungbr", T>(which, m, n, k, a, lda, tau)); });
}

}  // namespace ptx2cpu::cusolver
