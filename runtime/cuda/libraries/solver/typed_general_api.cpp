// Functions whose types are arguments, of general matrices: eigenvalues, the largest singular values; and of
// factors: systems of LDL factors, triangles of Householder vectors.
#include "runtime/cuda/libraries/solver/singular.h"
#include "runtime/cuda/libraries/solver/typed.h"

namespace ptx2cpu::cusolver {

namespace {

// W is n complex numbers, or n real parts before n imaginary ones.
template <typename T>
void StoreValues(const std::vector<std::complex<Real<T>>>& values, bool parts, void* w) {
  const size_t n = values.size();
  if (!parts) {
    std::copy(values.begin(), values.end(), static_cast<std::complex<Real<T>>*>(w));
    return;
  }
  auto* const to = static_cast<Real<T>*>(w);
  for (size_t i = 0; i < n; ++i) to[i] = values[i].real(), to[n + i] = values[i].imag();
}

cudaDataType ComplexTypeOf(cudaDataType type) {
  return type == CUDA_R_32F ? CUDA_C_32F : type == CUDA_R_64F ? CUDA_C_64F : type;
}
cusolverStatus_t CheckGeev(cusolverDnHandle_t handle, cusolverEigMode_t left, cusolverEigMode_t right,
                           int64_t n, cudaDataType typeA, int64_t lda, cudaDataType typeW,
                           cudaDataType typeVL, int64_t ldvl, cudaDataType typeVR, int64_t ldvr,
                           cudaDataType compute) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {n, lda, ldvl, ldvr}, IsType(typeA), IsRight(left),
                                                IsRight(right), n >= 0, LeadingIs(lda, n), ldvl >= 1,
                                                LeadingIs(ldvr, right == CUSOLVER_EIG_MODE_VECTOR ? n : 1)))
    return wrong;
  // As documented: left vectors are not computed.
  if (left == CUSOLVER_EIG_MODE_VECTOR) return CUSOLVER_STATUS_INVALID_VALUE;
  const bool types = (typeW == typeA || typeW == ComplexTypeOf(typeA)) && typeVL == typeA && typeVR == typeA;
  return types && compute == typeA ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

bool IsVectorJob(signed char job) { return job == 'S' || job == 'N'; }
cusolverStatus_t CheckGesvdr(cusolverDnHandle_t handle, signed char jobu, signed char jobv, int64_t m,
                             int64_t n, int64_t k, int64_t p, int64_t iterations, cudaDataType typeA,
                             int64_t lda, cudaDataType typeS, cudaDataType typeU, int64_t ldu,
                             cudaDataType typeV, int64_t ldv, cudaDataType compute) {
  const int64_t rank = std::min(m, n);
  if (const cusolverStatus_t wrong =
          CheckSizes(handle, {m, n, lda, ldu, ldv}, IsVectorJob(jobu), IsVectorJob(jobv), m >= 0, n >= 0,
                     k >= 0, k <= rank, p >= 0, p <= rank - k, iterations >= 0, LeadingIs(lda, m),
                     LeadingIs(ldu, jobu == 'S' ? m : 1), LeadingIs(ldv, jobv == 'S' ? n : 1)))
    return wrong;
  const bool types = typeS == RealTypeOf(typeA) && typeU == typeA && typeV == typeA && compute == typeA;
  return types ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

// The k largest singular values and their vectors, exactly; only where the caller wants them.
template <typename T>
int LargestSingularValues(int m, int n, int k, T* a, int lda, Real<T>* s, T* u, int ldu, T* v, int ldv) {
  const int rank = std::min(m, n), rows = std::max(1, m), columns = std::max(1, n);
  const bool vectors = u != nullptr || v != nullptr;
  const size_t count = vectors ? static_cast<size_t>(rank) : 0;
  std::vector<T> left(static_cast<size_t>(rows) * count), right(static_cast<size_t>(columns) * count);
  std::vector<Real<T>> values(static_cast<size_t>(rank));
  const int info =
      SingularVectors(vectors, true, m, n, a, lda, values.data(), left.data(), rows, right.data(), columns);
  std::copy_n(values.begin(), k, s);
  if (u != nullptr) CopyColumns(m, k, left.data(), rows, u, ldu);
  if (v != nullptr) CopyColumns(n, k, right.data(), columns, v, ldv);
  return info;
}

cusolverStatus_t CheckSytrs(cusolverDnHandle_t handle, cublasFillMode_t uplo, int64_t n, int64_t nrhs,
                            cudaDataType typeA, int64_t lda, cudaDataType typeB, int64_t ldb) {
  if (const cusolverStatus_t wrong = CheckSizes(handle, {n, nrhs, lda, ldb}, IsRight(uplo), n >= 0, nrhs >= 0,
                                                LeadingIs(lda, n), LeadingIs(ldb, n)))
    return wrong;
  return typeA == typeB ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t CheckLarft(cusolverDnHandle_t handle, cusolverDirectMode_t direct,
                            cusolverStorevMode_t storage, int64_t n, int64_t k, cudaDataType typeV,
                            int64_t ldv, cudaDataType typeTau, cudaDataType typeT, int64_t ldt,
                            cudaDataType compute) {
  const bool modes = (direct == CUBLAS_DIRECT_FORWARD || direct == CUBLAS_DIRECT_BACKWARD) &&
                     (storage == CUBLAS_STOREV_COLUMNWISE || storage == CUBLAS_STOREV_ROWWISE);
  if (const cusolverStatus_t wrong =
          CheckSizes(handle, {n, k, ldv, ldt}, modes, n >= 0, k >= 0, k <= n,
                     LeadingIs(ldv, storage == CUBLAS_STOREV_COLUMNWISE ? n : k), LeadingIs(ldt, k)))
    return wrong;
  const bool types = typeTau == typeV && typeT == typeV && compute == typeV;
  return types ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

}  // namespace

cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                            cusolverEigMode_t jobvl, cusolverEigMode_t jobvr, int64_t n,
                                            cudaDataType typeA, const void*, int64_t lda, cudaDataType typeW,
                                            const void*, cudaDataType typeVL, const void*, int64_t ldvl,
                                            cudaDataType typeVR, const void*, int64_t ldvr,
                                            cudaDataType compute, size_t* deviceSize, size_t* hostSize) {
  return ReportSizes(
      CheckGeev(handle, jobvl, jobvr, n, typeA, lda, typeW, typeVL, ldvl, typeVR, ldvr, compute), deviceSize,
      hostSize);
}
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t jobvl,
                                 cusolverEigMode_t jobvr, int64_t n, cudaDataType typeA, void* a, int64_t lda,
                                 cudaDataType typeW, void* w, cudaDataType typeVL, void*, int64_t ldvl,
                                 cudaDataType typeVR, void* vr, int64_t ldvr, cudaDataType compute, void*,
                                 size_t, void*, size_t, int* info) {
  if (const cusolverStatus_t wrong =
          CheckGeev(handle, jobvl, jobvr, n, typeA, lda, typeW, typeVL, ldvl, typeVR, ldvr, compute))
    return wrong;
  return WithType(typeA, {}, [&]<typename T>(Type<T>) {
    const bool parts = typeW == typeA && !kIsComplex<T>, vectors = jobvr == CUSOLVER_EIG_MODE_VECTOR;
    return OnStream(handle, "cusolverDnXgeev", [=] {
      std::vector<std::complex<Real<T>>> values(static_cast<size_t>(n));
      Note(info, GeneralEigenVectors(vectors, Narrow(n), static_cast<T*>(a), Narrow(lda), values.data(),
                                     static_cast<T*>(vr), Narrow(ldvr)));
      StoreValues<T>(values, parts, w);
    });
  });
}

cusolverStatus_t cusolverDnXgesvdr_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t, signed char jobu,
                                              signed char jobv, int64_t m, int64_t n, int64_t k, int64_t p,
                                              int64_t iterations, cudaDataType typeA, const void*,
                                              int64_t lda, cudaDataType typeS, const void*,
                                              cudaDataType typeU, const void*, int64_t ldu,
                                              cudaDataType typeV, const void*, int64_t ldv,
                                              cudaDataType compute, size_t* deviceSize, size_t* hostSize) {
  return ReportSizes(CheckGesvdr(handle, jobu, jobv, m, n, k, p, iterations, typeA, lda, typeS, typeU, ldu,
                                 typeV, ldv, compute),
                     deviceSize, hostSize);
}
// The original projects on random vectors, `p` more than the rank, `iterations` times; nothing here is
// random.
cusolverStatus_t cusolverDnXgesvdr(cusolverDnHandle_t handle, cusolverDnParams_t, signed char jobu,
                                   signed char jobv, int64_t m, int64_t n, int64_t k, int64_t p,
                                   int64_t iterations, cudaDataType typeA, void* a, int64_t lda,
                                   cudaDataType typeS, void* s, cudaDataType typeU, void* u, int64_t ldu,
                                   cudaDataType typeV, void* v, int64_t ldv, cudaDataType compute, void*,
                                   size_t, void*, size_t, int* info) {
  if (const cusolverStatus_t wrong = CheckGesvdr(handle, jobu, jobv, m, n, k, p, iterations, typeA, lda,
                                                 typeS, typeU, ldu, typeV, ldv, compute))
    return wrong;
  return WithType(typeA, {}, [&]<typename T>(Type<T>) {
    T* const left = jobu == 'S' ? static_cast<T*>(u) : nullptr;
    T* const right = jobv == 'S' ? static_cast<T*>(v) : nullptr;
    return OnStream(handle, "cusolverDnXgesvdr", [=] {
      Note(info, LargestSingularValues(Narrow(m), Narrow(n), Narrow(k), static_cast<T*>(a), Narrow(lda),
                                       static_cast<Real<T>*>(s), left, Narrow(ldu), right, Narrow(ldv)));
    });
  });
}

cusolverStatus_t cusolverDnXsytrs_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int64_t n,
                                             int64_t nrhs, cudaDataType typeA, const void*, int64_t lda,
                                             const int64_t*, cudaDataType typeB, void*, int64_t ldb,
                                             size_t* deviceSize, size_t* hostSize) {
  return ReportSizes(CheckSytrs(handle, uplo, n, nrhs, typeA, lda, typeB, ldb), deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXsytrs(cusolverDnHandle_t handle, cublasFillMode_t uplo, int64_t n, int64_t nrhs,
                                  cudaDataType typeA, const void* a, int64_t lda, const int64_t* ipiv,
                                  cudaDataType typeB, void* b, int64_t ldb, void*, size_t, void*, size_t,
                                  int* info) {
  if (const cusolverStatus_t wrong = CheckSytrs(handle, uplo, n, nrhs, typeA, lda, typeB, ldb)) return wrong;
  return WithType(typeA, {}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXsytrs", [=] {
      // Without pivots each row remains at its place.
      std::vector<int> pivots(static_cast<size_t>(n));
      for (size_t i = 0; i < pivots.size(); ++i)
        pivots[i] = ipiv == nullptr ? static_cast<int>(i) + 1 : Narrow(ipiv[i]);
      int state = 0;
      Blas<"sytrs", T>(Letter(uplo), Narrow(n), Narrow(nrhs), static_cast<const T*>(a), Narrow(lda),
                       pivots.data(), static_cast<T*>(b), Narrow(ldb), &state);
      Note(info, state);
    });
  });
}

cusolverStatus_t cusolverDnXlarft_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t,
                                             cusolverDirectMode_t direct, cusolverStorevMode_t storage,
                                             int64_t n, int64_t k, cudaDataType typeV, const void*,
                                             int64_t ldv, cudaDataType typeTau, const void*,
                                             cudaDataType typeT, void*, int64_t ldt, cudaDataType compute,
                                             size_t* deviceSize, size_t* hostSize) {
  return ReportSizes(CheckLarft(handle, direct, storage, n, k, typeV, ldv, typeTau, typeT, ldt, compute),
                     deviceSize, hostSize);
}
cusolverStatus_t cusolverDnXlarft(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverDirectMode_t direct,
                                  cusolverStorevMode_t storage, int64_t n, int64_t k, cudaDataType typeV,
                                  const void* v, int64_t ldv, cudaDataType typeTau, const void* tau,
                                  cudaDataType typeT, void* t, int64_t ldt, cudaDataType compute, void*,
                                  size_t, void*, size_t) {
  if (const cusolverStatus_t wrong =
          CheckLarft(handle, direct, storage, n, k, typeV, ldv, typeTau, typeT, ldt, compute))
    return wrong;
  if (storage != CUBLAS_STOREV_COLUMNWISE) return CUSOLVER_STATUS_INVALID_VALUE;  // as recorded
  return WithType(typeV, {}, [&]<typename T>(Type<T>) {
    return OnStream(handle, "cusolverDnXlarft", [=] {
      const char order = direct == CUBLAS_DIRECT_FORWARD ? 'F' : 'B';
      Blas<"larft", T>(order, 'C', Narrow(n), Narrow(k), static_cast<const T*>(v), Narrow(ldv),
                       static_cast<const T*>(tau), static_cast<T*>(t), Narrow(ldt));
    });
  });
}

}  // namespace ptx2cpu::cusolver
