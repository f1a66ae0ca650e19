// Singular values. The values that the original finds by Jacobi rotations, LAPACK finds by QR iterations:
// they count as one "sweep".
#pragma once

#include <atomic>

#include "runtime/cuda/libraries/solver/factor.h"

namespace ptx2cpu::cusolver {

// What a Jacobi method's parameters share with the work that is queued.
struct JacobiState {
  std::atomic<double> residual{0};
};

}  // namespace ptx2cpu::cusolver

struct ptx2cpu::cuda::gesvdjInfo {
  double tolerance = 0;
  int max_sweeps = 100;
  bool sorts = true;
  std::shared_ptr<ptx2cpu::cusolver::JacobiState> state = std::make_shared<ptx2cpu::cusolver::JacobiState>();
};

namespace ptx2cpu::cusolver {

// The Frobenius norm of A - U diag(s) V^H; a column of V is n long.
template <typename T>
double ResidualOf(int m, int n, int rank, const T* a, int lda, const Real<T>* s, const T* u, int ldu,
                  const T* v, int ldv) {
  std::vector<T> scaled(static_cast<size_t>(std::max(1, m)) * static_cast<size_t>(std::max(1, rank)));
  std::vector<T> difference(static_cast<size_t>(std::max(1, m)) * static_cast<size_t>(n));
  for (int k = 0; k < rank; ++k) {
    for (int i = 0; i < m; ++i) scaled[i + size_t(k) * size_t(m)] = u[i + int64_t{k} * ldu] * s[k];
  }
  CopyColumns(m, n, a, lda, difference.data(), std::max(1, m));
  Blas<"gemm", T>('N', 'C', m, n, rank, T(-1), scaled.data(), std::max(1, m), v, ldv, T(1), difference.data(),
                  std::max(1, m));
  double sum = 0;
  for (const T& value : difference) sum += static_cast<double>(std::norm(value));
  return std::sqrt(sum);
}

template <typename T>
cusolverStatus_t Gesvd(const char* name, cusolverDnHandle_t h, signed char job_u, signed char job_vt, int m,
                       int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt, T*, int, Real<T>*,
                       int* info) {
  const auto is_job = [](signed char job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; };
  const auto writes = [](signed char job) { return job == 'A' || job == 'S'; };
  if (const cusolverStatus_t wrong =
          Check(h, is_job(job_u), is_job(job_vt), job_u != 'O' || job_vt != 'O', n >= 0, m >= 0,
                LeadingIs(lda, m), !writes(job_u) || LeadingIs(ldu, m),
                !writes(job_vt) || LeadingIs(ldvt, job_vt == 'A' ? n : std::min(m, n))))
    return wrong;
  if (m < n) return CUSOLVER_STATUS_INVALID_VALUE;  // as documented
  // Matrices that are not written need no leading dimension of theirs.
  const int ld_u = std::max(1, ldu), ld_vt = std::max(1, ldvt);
  return OnStream(h, name, [=] {
    Note(info, SingularValues(static_cast<char>(job_u), static_cast<char>(job_vt), m, n, a, lda, s, u, ld_u,
                              vt, ld_vt));
  });
}

inline cusolverStatus_t CheckJacobi(cusolverDnHandle_t h, cusolverEigMode_t jobz, int m, int n, int lda,
                                    int ldu, int ldv) {
  const bool vectors = jobz == CUSOLVER_EIG_MODE_VECTOR;
  return Check(h, IsRight(jobz), m >= 0, n >= 0, LeadingIs(lda, m), !vectors || LeadingIs(ldu, m),
               !vectors || LeadingIs(ldv, n));
}
template <typename T>
cusolverStatus_t GesvdjSize(const char*, cusolverDnHandle_t h, cusolverEigMode_t, int, int, int, const T*,
                            int, const Real<T>*, const T*, int, const T*, int, int* size, gesvdjInfo*) {
  return ReportSize(h, size);
}
// One matrix; reports the residual if there are vectors.
template <typename T>
int DecomposeOnce(bool vectors, bool thin, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* v,
                  int ldv, JacobiState& state) {
  std::vector<T> before(vectors ? static_cast<size_t>(std::max(1, m)) * static_cast<size_t>(n) : 0);
  if (vectors) CopyColumns(m, n, a, lda, before.data(), std::max(1, m));
  const int info = SingularVectors(vectors, thin, m, n, a, lda, s, u, ldu, v, ldv);
  if (vectors)
    state.residual = ResidualOf(m, n, std::min(m, n), before.data(), std::max(1, m), s, u, ldu, v, ldv);
  return info;
}
template <typename T>
cusolverStatus_t Gesvdj(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz, int econ, int m,
                        int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* v, int ldv, T*, int, int* info,
                        gesvdjInfo* params) {
  if (const cusolverStatus_t wrong = CheckJacobi(h, jobz, m, n, lda, ldu, ldv)) return wrong;
  if (params == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return OnStream(h, name, [=, state = params->state] {
    Note(info,
         DecomposeOnce(jobz == CUSOLVER_EIG_MODE_VECTOR, econ != 0, m, n, a, lda, s, u, ldu, v, ldv, *state));
  });
}

constexpr int kMaxJacobiBatch = 32;  // rows and columns of a batch's matrices, as documented
template <typename T>
cusolverStatus_t GesvdjBatchedSize(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz, int m,
                                   int n, const T* a, int lda, const Real<T>* s, const T* u, int ldu,
                                   const T* v, int ldv, int* size, gesvdjInfo* params, int count) {
  if (m > kMaxJacobiBatch || n > kMaxJacobiBatch || count < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  return GesvdjSize<T>(name, h, jobz, 0, m, n, a, lda, s, u, ldu, v, ldv, size, params);
}
template <typename T>
cusolverStatus_t GesvdjBatched(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz, int m, int n,
                               T* a, int lda, Real<T>* s, T* u, int ldu, T* v, int ldv, T*, int, int* info,
                               gesvdjInfo* params, int count) {
  if (const cusolverStatus_t wrong = CheckJacobi(h, jobz, m, n, lda, ldu, ldv)) return wrong;
  if (params == nullptr || m > kMaxJacobiBatch || n > kMaxJacobiBatch || count < 0)
    return CUSOLVER_STATUS_INVALID_VALUE;
  return OnStream(h, name, [=, state = params->state] {
    ForBatch(count, std::max(m, n), [&](int64_t i) {
      info[i] = DecomposeOnce(jobz == CUSOLVER_EIG_MODE_VECTOR, false, m, n, a + i * lda * n, lda,
                              s + i * std::min(m, n), u + i * ldu * m, ldu, v + i * ldv * n, ldv, *state);
    });
  });
}

// The `rank` largest singular values of each matrix of a batch; the residuals are in host memory.
template <typename T>
cusolverStatus_t GesvdaSize(const char*, cusolverDnHandle_t h, cusolverEigMode_t, int rank, int m, int n,
                            const T*, int, long long, const Real<T>*, long long, const T*, int, long long,
                            const T*, int, long long, int* size, int count) {
  if (rank < 0 || rank > std::min(m, n) || count < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSize(h, size);
}
template <typename T>
cusolverStatus_t Gesvda(const char* name, cusolverDnHandle_t h, cusolverEigMode_t jobz, int rank, int m,
                        int n, const T* a, int lda, long long stride_a, Real<T>* s, long long stride_s, T* u,
                        int ldu, long long stride_u, T* v, int ldv, long long stride_v, T*, int, int* info,
                        double* residuals, int count) {
  if (const cusolverStatus_t wrong = CheckJacobi(h, jobz, m, n, lda, ldu, ldv)) return wrong;
  if (rank < 0 || rank > std::min(m, n) || count < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  const auto run = [=] {
    ForBatch(count, std::max(m, n), [&](int64_t i) {
      const int small = std::min(m, n);
      const bool vectors = jobz == CUSOLVER_EIG_MODE_VECTOR;
      const T* const from = a + i * stride_a;
      std::vector<T> copy(static_cast<size_t>(std::max(1, m)) * static_cast<size_t>(n)),
          left(static_cast<size_t>(std::max(1, m)) * static_cast<size_t>(small)),
          right(static_cast<size_t>(std::max(1, n)) * static_cast<size_t>(small));
      std::vector<Real<T>> values(static_cast<size_t>(small));
      CopyColumns(m, n, from, lda, copy.data(), std::max(1, m));
      info[i] = SingularVectors(vectors, true, m, n, copy.data(), std::max(1, m), values.data(), left.data(),
                                std::max(1, m), right.data(), std::max(1, n));
      std::copy_n(values.begin(), rank, s + i * stride_s);
      if (!vectors) return;
      CopyColumns(m, rank, left.data(), std::max(1, m), u + i * stride_u, ldu);
      CopyColumns(n, rank, right.data(), std::max(1, n), v + i * stride_v, ldv);
      if (residuals != nullptr)
        residuals[i] = ResidualOf(m, n, rank, from, lda, values.data(), left.data(), std::max(1, m),
                                  right.data(), std::max(1, n));
    });
  };
  return residuals == nullptr ? OnStream(h, name, run) : OnStreamAndWait(h, name, run);
}

}  // namespace ptx2cpu::cusolver
