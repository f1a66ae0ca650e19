// The functions whose types are arguments: the factorisations of the other functions, by type; sizes must fit
// LAPACK's.
#include "runtime/cuda/libraries/solver/eigen.h"
#include "runtime/cuda/libraries/solver/typed.h"

namespace ptx2cpu::cusolver {

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                             cublasFillMode_t uplo, int64_t n, cudaDataType typeA,
                                             const void*, int64_t lda, cudaDataType compute,
                                             size_t* deviceSize, size_t* hostSize) {
  return ReportSizes(CheckSizes(handle, {n, lda}, IsRight(uplo), n >= 0, IsType(typeA), typeA == compute),
                     deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t uplo,
                                  int64_t n, cudaDataType typeA, void* a, int64_t lda, cudaDataType compute,
                                  void*, size_t, void*, size_t, int* info) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {n, lda}, IsRight(uplo), n >= 0, LeadingIs(lda, n)))
    return wrong;
  return WithType(typeA, {compute}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXpotrf",
                    [=] { Note(info, Cholesky(uplo, Narrow(n), static_cast<T*>(a), Narrow(lda))); });
  });
}
cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t uplo,
                                  int64_t n, int64_t nrhs, cudaDataType typeA, const void* a, int64_t lda,
                                  cudaDataType typeB, void* b, int64_t ldb, int* info) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {n, nrhs, lda, ldb}, IsRight(uplo), n >= 0, nrhs >= 0,
                                                LeadingIs(lda, n), LeadingIs(ldb, n)))
    return wrong;
  return WithType(typeA, {typeB}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXpotrs", [=] {
      Note(info, SolveCholesky(uplo, Narrow(n), Narrow(nrhs), static_cast<const T*>(a), Narrow(lda),
                               static_cast<T*>(b), Narrow(ldb)));
    });
  });
}
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m,
                                             int64_t n, cudaDataType typeA, const void*, int64_t lda,
                                             cudaDataType compute, size_t* deviceSize, size_t* hostSize) {
  return ReportSizes(CheckSizes(handle, {m, n, lda}, IsType(typeA), typeA == compute), deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m, int64_t n,
                                  cudaDataType typeA, void* a, int64_t lda, int64_t* ipiv,
                                  cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {m, n, lda}, m >= 0, n >= 0, LeadingIs(lda, m)))
    return wrong;
  return WithType(typeA, {compute}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXgetrf", [=] {
      std::vector<int> pivots(ipiv == nullptr ? 0 : static_cast<size_t>(std::min(m, n)));
      Note(info, Lu(Narrow(m), Narrow(n), static_cast<T*>(a), Narrow(lda),
                    ipiv == nullptr ? nullptr : pivots.data()));
      std::copy(pivots.begin(), pivots.end(), ipiv);
    });
  });
}
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t, cublasOperation_t trans,
                                  int64_t n, int64_t nrhs, cudaDataType typeA, const void* a, int64_t lda,
                                  const int64_t* ipiv, cudaDataType typeB, void* b, int64_t ldb, int* info) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {n, nrhs, lda, ldb}, IsRight(trans), n >= 0,
                                                nrhs >= 0, LeadingIs(lda, n), LeadingIs(ldb, n)))
    return wrong;
  return WithType(typeA, {typeB}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXgetrs", [=] {
      const std::vector<int> pivots(ipiv, ipiv == nullptr ? ipiv : ipiv + n);
      Note(info, SolveLu(trans, Narrow(n), Narrow(nrhs), static_cast<const T*>(a), Narrow(lda),
                         ipiv == nullptr ? nullptr : pivots.data(), static_cast<T*>(b), Narrow(ldb)));
    });
  });
}
cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m,
                                             int64_t n, cudaDataType, const void*, int64_t lda, cudaDataType,
                                             const void*, cudaDataType, size_t* deviceSize,
                                             size_t* hostSize) {
  return ReportSizes(CheckSizes(handle, {m, n, lda}, m >= 0, n >= 0, LeadingIs(lda, m)), deviceSize,
                     hostSize);
}
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m, int64_t n,
                                  cudaDataType typeA, void* a, int64_t lda, cudaDataType typeTau, void* tau,
                                  cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {m, n, lda}, m >= 0, n >= 0, LeadingIs(lda, m)))
    return wrong;
  return WithType(typeA, {typeTau, compute}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXgeqrf", [=] {
      Note(info,
           WithWork<"geqrf", T>(Narrow(m), Narrow(n), static_cast<T*>(a), Narrow(lda), static_cast<T*>(tau)));
    });
  });
}
cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                             cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
                                             cudaDataType typeA, const void*, int64_t lda, cudaDataType typeW,
                                             const void*, cudaDataType, size_t* deviceSize,
                                             size_t* hostSize) {
  if (typeW != RealTypeOf(typeA)) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSizes(CheckSizes(handle, {n, lda}, IsRight(jobz), IsRight(uplo), n >= 0, LeadingIs(lda, n)),
                     deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t jobz,
                                  cublasFillMode_t uplo, int64_t n, cudaDataType typeA, void* a, int64_t lda,
                                  cudaDataType typeW, void* w, cudaDataType compute, void*, size_t, void*,
                                  size_t, int* info) {
  if (const cusolverStatus_t wrong =
          CheckSizes(handle, {n, lda}, IsRight(jobz), IsRight(uplo), n >= 0, LeadingIs(lda, n)))
    return wrong;
  if (typeW != RealTypeOf(typeA)) return CUSOLVER_STATUS_INVALID_VALUE;
  return WithType(typeA, {compute}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXsyevd", [=] {
      Note(info,
           EigenValues(jobz, uplo, Narrow(n), static_cast<T*>(a), Narrow(lda), static_cast<Real<T>*>(w)));
    });
  });
}
cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                                   cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
                                                   cudaDataType typeA, const void*, int64_t lda,
                                                   cudaDataType typeW, const void*, cudaDataType,
                                                   size_t* deviceSize, size_t* hostSize, int64_t count) {
  if (typeW != RealTypeOf(typeA) || count < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSizes(CheckSizes(handle, {n, lda}, IsRight(jobz), IsRight(uplo), n >= 0, LeadingIs(lda, n)),
                     deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t jobz,
                                        cublasFillMode_t uplo, int64_t n, cudaDataType typeA, void* a,
                                        int64_t lda, cudaDataType typeW, void* w, cudaDataType compute, void*,
                                        size_t, void*, size_t, int* info, int64_t count) {
  if (const cusolverStatus_t wrong =
          CheckSizes(handle, {n, lda}, IsRight(jobz), IsRight(uplo), n >= 0, LeadingIs(lda, n)))
    return wrong;
  if (typeW != RealTypeOf(typeA) || count < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  return WithType(typeA, {compute}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXsyevBatched", [=] {
      ForBatch(Narrow(count), Narrow(n), [&](int64_t i) {
        info[i] = EigenValues(jobz, uplo, Narrow(n), static_cast<T*>(a) + i * lda * n, Narrow(lda),
                              static_cast<Real<T>*>(w) + i * n);
      });
    });
  });
}
cusolverStatus_t cusolverDnXsyevdx_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                              cusolverEigMode_t jobz, cusolverEigRange_t,
                                              cublasFillMode_t uplo, int64_t n, cudaDataType typeA,
                                              const void*, int64_t lda, void*, void*, int64_t, int64_t,
                                              int64_t*, cudaDataType typeW, const void*, cudaDataType,
                                              size_t* deviceSize, size_t* hostSize) {
  if (typeW != RealTypeOf(typeA)) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSizes(CheckSizes(handle, {n, lda}, IsRight(jobz), IsRight(uplo), n >= 0, LeadingIs(lda, n)),
                     deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXsyevdx(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t jobz,
                                   cusolverEigRange_t range, cublasFillMode_t uplo, int64_t n,
                                   cudaDataType typeA, void* a, int64_t lda, void* vl, void* vu, int64_t il,
                                   int64_t iu, int64_t* found, cudaDataType typeW, void* w,
                                   cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  if (const cusolverStatus_t wrong =
          CheckSizes(handle, {n, lda}, IsRight(jobz), IsRight(uplo), n >= 0, LeadingIs(lda, n)))
    return wrong;
  if (typeW != RealTypeOf(typeA)) return CUSOLVER_STATUS_INVALID_VALUE;
  return WithType(typeA, {compute}, [&]<typename T>(Type<T>) {
    Selection<T> selection{range, 0, 0, Narrow(il), Narrow(iu)};
    if (range == CUSOLVER_EIG_RANGE_V) {
      if (vl == nullptr || vu == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
      selection.vl = *static_cast<const Real<T>*>(vl), selection.vu = *static_cast<const Real<T>*>(vu);
    }
    int none = 0;
    if (const cusolverStatus_t wrong =
            CheckSelection(handle, selection, Narrow(n), found == nullptr ? nullptr : &none))
      return wrong;
    return OnStreamAndWait(handle, "cusolverDnXsyevdx", [=] {
      int number = 0;
      Note(info, SelectedEigenValues(jobz, selection, uplo, Narrow(n), static_cast<T*>(a), Narrow(lda),
                                     &number, static_cast<Real<T>*>(w)));
      *found = number;
    });
  });
}
cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, signed char,
                                             signed char, int64_t m, int64_t n, cudaDataType typeA,
                                             const void*, int64_t lda, cudaDataType typeS, const void*,
                                             cudaDataType, const void*, int64_t ldu, cudaDataType,
                                             const void*, int64_t ldv, cudaDataType, size_t* deviceSize,
                                             size_t* hostSize) {
  if (typeS != RealTypeOf(typeA) || m < n) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSizes(
      CheckSizes(handle, {m, n, lda, ldu, ldv}, m >= 0, n >= 0, LeadingIs(lda, m), ldu >= 1, ldv >= 1),
      deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t, signed char jobu,
                                  signed char jobvt, int64_t m, int64_t n, cudaDataType typeA, void* a,
                                  int64_t lda, cudaDataType typeS, void* s, cudaDataType typeU, void* u,
                                  int64_t ldu, cudaDataType typeV, void* v, int64_t ldv, cudaDataType compute,
                                  void*, size_t, void*, size_t, int* info) {
  if (const cusolverStatus_t wrong =
          CheckSizes(handle, {m, n, lda, ldu, ldv}, m >= 0, n >= 0, LeadingIs(lda, m), ldu >= 1, ldv >= 1))
    return wrong;
  if (typeS != RealTypeOf(typeA) || m < n) return CUSOLVER_STATUS_INVALID_VALUE;
  return WithType(typeA, {typeU, typeV, compute}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXgesvd", [=] {
      Note(info, SingularValues(static_cast<char>(jobu), static_cast<char>(jobvt), Narrow(m), Narrow(n),
                                static_cast<T*>(a), Narrow(lda), static_cast<Real<T>*>(s), static_cast<T*>(u),
                                Narrow(ldu), static_cast<T*>(v), Narrow(ldv)));
    });
  });
}
cusolverStatus_t cusolverDnXgesvdp_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                              cusolverEigMode_t jobz, int, int64_t m, int64_t n,
                                              cudaDataType typeA, const void*, int64_t lda,
                                              cudaDataType typeS, const void*, cudaDataType, const void*,
                                              int64_t ldu, cudaDataType, const void*, int64_t ldv,
                                              cudaDataType, size_t* deviceSize, size_t* hostSize) {
  if (typeS != RealTypeOf(typeA) || !IsRight(jobz)) return CUSOLVER_STATUS_INVALID_VALUE;
  return ReportSizes(
      CheckSizes(handle, {m, n, lda, ldu, ldv}, m >= 0, n >= 0, LeadingIs(lda, m), ldu >= 1, ldv >= 1),
      deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXgesvdp(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t jobz,
                                   int econ, int64_t m, int64_t n, cudaDataType typeA, void* a, int64_t lda,
                                   cudaDataType typeS, void* s, cudaDataType typeU, void* u, int64_t ldu,
                                   cudaDataType typeV, void* v, int64_t ldv, cudaDataType compute, void*,
                                   size_t, void*, size_t, int* info, double* error) {
  if (const cusolverStatus_t wrong =
          CheckSizes(handle, {m, n, lda, ldu, ldv}, m >= 0, n >= 0, LeadingIs(lda, m), ldu >= 1, ldv >= 1))
    return wrong;
  if (typeS != RealTypeOf(typeA) || !IsRight(jobz) || error == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return WithType(typeA, {typeU, typeV, compute}, [&]<typename T>(Type<T>) {
    return OnStreamAndWait(handle, "cusolverDnXgesvdp", [=] {
      Note(info, SingularVectors(jobz == CUSOLVER_EIG_MODE_VECTOR, econ != 0, Narrow(m), Narrow(n),
                                 static_cast<T*>(a), Narrow(lda), static_cast<Real<T>*>(s),
                                 static_cast<T*>(u), Narrow(ldu), static_cast<T*>(v), Narrow(ldv)));
      *error = 0;  // nothing was perturbed
    });
  });
}
cusolverStatus_t cusolverDnXtrtri_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo,
                                             cublasDiagType_t, int64_t n, cudaDataType typeA, void*,
                                             int64_t lda, size_t* deviceSize, size_t* hostSize) {
  if (handle != nullptr && !IsType(typeA)) return CUSOLVER_STATUS_NOT_SUPPORTED;
  return ReportSizes(CheckSizes(handle, {n, lda}, IsRight(uplo), n >= 0, LeadingIs(lda, n)), deviceSize,
                     hostSize);
}
cusolverStatus_t cusolverDnXtrtri(cusolverDnHandle_t handle, cublasFillMode_t uplo, cublasDiagType_t diag,
                                  int64_t n, cudaDataType typeA, void* a, int64_t lda, void*, size_t, void*,
                                  size_t, int* info) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {n, lda}, IsRight(uplo), n >= 0, LeadingIs(lda, n)))
    return wrong;
  return WithType(typeA, {}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXtrtri", [=] {
      int state = 0;
      Blas<"trtri", T>(Letter(uplo), diag == CUBLAS_DIAG_UNIT ? 'U' : 'N', Narrow(n), static_cast<T*>(a),
                       Narrow(lda), &state);
      // The diagonal of ones is also written.
      for (int64_t i = 0; diag == CUBLAS_DIAG_UNIT && i < n; ++i) static_cast<T*>(a)[i * (lda + 1)] = T(1);
      Note(info, state);
    });
  });
}

}  // namespace ptx2cpu::cusolver
