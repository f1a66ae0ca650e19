// LAPACK's routines with workspaces of their own; each returns LAPACK's info.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "runtime/cuda/libraries/core/elimination.h"
#include "runtime/cuda/libraries/solver/call.h"

namespace ptx2cpu::cusolver {

using libraries::Blas;
using libraries::Name;

// Sizes are reported as numbers of the matrix's type, which may round them.
template <typename T>
int RoomOf(const T& reported) {
  return static_cast<int>(static_cast<double>(std::real(reported)) * (1 + 1e-6)) + 1;
}

// A routine whose last arguments are its workspace, the workspace's size and info.
template <Name kName, typename T, typename... Args>
int WithWork(const Args&... args) {
  T reported{};
  int info = 0;
  Blas<kName, T>(args..., &reported, -1, &info);
  if (info != 0) return info;
  const int room = RoomOf(reported);
  const auto work = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(room));
  Blas<kName, T>(args..., work.get(), room, &info);
  return info;
}
// The same for a pair of routines: of real and of complex matrices.
template <Name kReal, Name kComplex, typename T, typename... Args>
int WithWork(const Args&... args) {
  if constexpr (kIsComplex<T>) {
    return WithWork<kComplex, T>(args...);
  } else {
    return WithWork<kReal, T>(args...);
  }
}

// Routines that take, after `work`, a workspace of real numbers if the matrix is complex, and one of
// integers.
template <Name kReal, Name kComplex, typename T, typename... Args>
int WithThreeWorks(const Args&... args) {
  T reported{};
  Real<T> real_reported{};
  int integers = 0, info = 0;
  const auto call = [&](T* work, int room, Real<T>* real_work, int real_room, int* integer_work,
                        int integer_room) {
    if constexpr (kIsComplex<T>) {
      Blas<kComplex, T>(args..., work, room, real_work, real_room, integer_work, integer_room, &info);
    } else {
      Blas<kReal, T>(args..., work, room, integer_work, integer_room, &info);
    }
  };
  call(&reported, -1, &real_reported, -1, &integers, -1);
  if (info != 0) return info;
  const int room = RoomOf(reported), real_room = RoomOf(real_reported);
  const auto work = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(room));
  const auto real_work = std::make_unique_for_overwrite<Real<T>[]>(static_cast<size_t>(real_room));
  const auto integer_work = std::make_unique_for_overwrite<int[]>(static_cast<size_t>(integers));
  call(work.get(), room, real_work.get(), real_room, integer_work.get(), integers);
  return info;
}

// `pivots` null: without exchanging rows.
template <typename T>
int Lu(int m, int n, T* a, int lda, int* pivots) {
  if (pivots == nullptr) return libraries::FactorWithoutPivots(m, n, a, lda);
  int info = 0;
  Blas<"getrf", T>(m, n, a, lda, pivots, &info);
  return info;
}
template <typename T>
int SolveLu(cublasOperation_t op, int n, int columns, const T* a, int lda, const int* pivots, T* b, int ldb) {
  if (pivots == nullptr) {
    libraries::SolveWithoutPivots(Letter<T>(op), n, columns, a, lda, b, ldb);
    return 0;
  }
  int info = 0;
  Blas<"getrs", T>(Letter<T>(op), n, columns, a, lda, pivots, b, ldb, &info);
  return info;
}
template <typename T>
int Cholesky(cublasFillMode_t uplo, int n, T* a, int lda) {
  int info = 0;
  Blas<"potrf", T>(Letter(uplo), n, a, lda, &info);
  return info;
}
template <typename T>
int SolveCholesky(cublasFillMode_t uplo, int n, int columns, const T* a, int lda, T* b, int ldb) {
  int info = 0;
  Blas<"potrs", T>(Letter(uplo), n, columns, a, lda, b, ldb, &info);
  return info;
}

template <typename T>
int EigenValues(cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a, int lda, Real<T>* w) {
  return WithThreeWorks<"syevd", "heevd", T>(Letter(jobz), Letter(uplo), n, a, lda, w);
}
// A x = w B x and its two relatives; B becomes its Cholesky factor.
template <typename T>
int GeneralEigenValues(cusolverEigType_t type, cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, T* a,
                       int lda, T* b, int ldb, Real<T>* w) {
  const int number = type;
  return WithThreeWorks<"sygvd", "hegvd", T>(number, Letter(jobz), Letter(uplo), n, a, lda, b, ldb, w);
}

// Eigenvalues of a general matrix, as complex numbers; vectors as LAPACK has them, two columns for a pair.
template <typename T>
int GeneralEigenVectors(bool vectors, int n, T* a, int lda, std::complex<Real<T>>* w, T* v, int ldv) {
  const auto count = static_cast<size_t>(std::max(1, n));
  const char job = vectors ? 'V' : 'N';
  T none{};
  if constexpr (kIsComplex<T>) {
    std::vector<Real<T>> rwork(2 * count);
    T reported{};
    int info = 0;
    Blas<"geev", T>('N', job, n, a, lda, w, &none, 1, v, ldv, &reported, -1, rwork.data(), &info);
    if (info != 0) return info;
    std::vector<T> work(static_cast<size_t>(RoomOf(reported)));
    Blas<"geev", T>('N', job, n, a, lda, w, &none, 1, v, ldv, work.data(), RoomOf(reported), rwork.data(),
                    &info);
    return info;
  } else {
    std::vector<T> real(count), imaginary(count);
    const int info =
        WithWork<"geev", T>('N', job, n, a, lda, real.data(), imaginary.data(), &none, 1, v, ldv);
    for (int i = 0; i < n; ++i) w[i] = {real[i], imaginary[i]};
    return info;
  }
}

// Which eigenvalues: all, numbers il to iu, or those in (vl, vu].
template <typename T>
struct Selection {
  cusolverEigRange_t range;
  Real<T> vl, vu;
  int il, iu;
  char letter() const {
    return range == CUSOLVER_EIG_RANGE_ALL ? 'A' : range == CUSOLVER_EIG_RANGE_I ? 'I' : 'V';
  }
};
// The vectors replace the first columns of A.
template <typename T>
int SelectedEigenValues(cusolverEigMode_t jobz, const Selection<T>& s, cublasFillMode_t uplo, int n, T* a,
                        int lda, int* found, Real<T>* w) {
  const size_t columns = static_cast<size_t>(std::max(1, n));
  std::vector<T> vectors(jobz == CUSOLVER_EIG_MODE_VECTOR ? columns * columns : 1);
  std::vector<int> support(2 * columns);
  std::vector<Real<T>> values(columns);
  const int info = WithThreeWorks<"syevr", "heevr", T>(
      Letter(jobz), s.letter(), Letter(uplo), n, a, lda, s.vl, s.vu, s.il, s.iu, Real<T>(0), found,
      values.data(), vectors.data(), std::max(1, n), support.data());
  std::copy_n(values.begin(), *found, w);
  for (int j = 0; jobz == CUSOLVER_EIG_MODE_VECTOR && j < *found; ++j)
    std::copy_n(vectors.begin() + int64_t{j} * n, n, a + int64_t{j} * lda);
  return info;
}

template <typename T>
int SingularValues(char job_u, char job_vt, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt,
                   int ldvt) {
  if constexpr (kIsComplex<T>) {
    const std::vector<Real<T>> rwork(static_cast<size_t>(5 * std::max(1, std::min(m, n))));
    T reported{};
    int info = 0;
    const auto call = [&](T* work, int room) {
      Blas<"gesvd", T>(job_u, job_vt, m, n, a, lda, s, u, ldu, vt, ldvt, work, room, rwork.data(), &info);
    };
    call(&reported, -1);
    const std::vector<T> work(static_cast<size_t>(RoomOf(reported)));
    if (info == 0) call(const_cast<T*>(work.data()), RoomOf(reported));
    return info;
  } else {
    return WithWork<"gesvd", T>(job_u, job_vt, m, n, a, lda, s, u, ldu, vt, ldvt);
  }
}

// U and V, not V's conjugate transpose; all columns of them, or the first min(m, n) with `thin`.
template <typename T>
int SingularVectors(bool vectors, bool thin, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* v,
                    int ldv) {
  const int rank = std::min(m, n), rows = thin ? rank : n;
  if (!vectors) {
    T none{};
    return SingularValues('N', 'N', m, n, a, lda, s, &none, 1, &none, 1);
  }
  std::vector<T> vt(static_cast<size_t>(std::max(1, rows)) * static_cast<size_t>(n));
  const char job = thin ? 'S' : 'A';
  const int info = SingularValues(job, job, m, n, a, lda, s, u, ldu, vt.data(), std::max(1, rows));
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < n; ++i) v[i + int64_t{j} * ldv] = Conjugate(vt[j + size_t(i) * size_t(rows)]);
  }
  return info;
}

}  // namespace ptx2cpu::cusolver
