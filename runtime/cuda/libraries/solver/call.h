// The start of every function of cuSOLVER: its handle, and BLAS's characters for its enumerations.
#pragma once

#include <algorithm>
#include <utility>

#include "cusolver_api.h"
#include "runtime/cuda/libraries/core/numbers.h"
#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/core/stream_call.h"

// What a cusolverDnHandle_t points to. Used by one host thread at a time.
struct ptx2cpu::cuda::cusolverDnContext {
  CUstream stream = nullptr;
  cusolverDeterministicMode_t deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
  cusolverMathMode_t math = CUSOLVER_DEFAULT_MATH;
  cudaEmulationStrategy_t emulation = CUDA_EMULATION_STRATEGY_DEFAULT;
};

namespace ptx2cpu::cusolver {

using namespace cuda;

cusolverStatus_t FromDriver(CUresult result);

using libraries::Conjugate;
using libraries::kIsComplex;
using libraries::Real;

inline bool IsRight(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER;
}
inline bool IsRight(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }
inline bool IsRight(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
inline bool IsRight(cusolverEigMode_t jobz) {
  return jobz == CUSOLVER_EIG_MODE_NOVECTOR || jobz == CUSOLVER_EIG_MODE_VECTOR;
}
inline bool IsRight(cusolverEigType_t type) {
  return type >= CUSOLVER_EIG_TYPE_1 && type <= CUSOLVER_EIG_TYPE_3;
}
inline bool IsRight(cusolverEigRange_t range) {
  return range >= CUSOLVER_EIG_RANGE_ALL && range <= CUSOLVER_EIG_RANGE_V;
}
inline bool LeadingIs(int64_t ld, int64_t rows) { return ld >= std::max<int64_t>(1, rows); }

inline char Letter(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
inline char Letter(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT ? 'L' : 'R'; }
inline char Letter(cusolverEigMode_t jobz) { return jobz == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N'; }
template <typename T>
char Letter(cublasOperation_t op) {
  return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_C && kIsComplex<T> ? 'C' : 'T';
}

// A handle of any part first, then everything else.
template <typename Context, typename... Conditions>
cusolverStatus_t Check(const Context* handle, Conditions... right) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return (right && ...) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

// Queues work that needs LAPACK.
template <typename Run>
cusolverStatus_t OnStream(cusolverDnHandle_t handle, const char* name, Run&& run) {
  if (!libraries::LoadBlas(name)) return CUSOLVER_STATUS_NOT_SUPPORTED;
  return FromDriver(libraries::Submit(handle->stream, name, std::forward<Run>(run)));
}
// The same, and a result that the host reads when the function has returned.
template <typename Run>
cusolverStatus_t OnStreamAndWait(cusolverDnHandle_t handle, const char* name, Run&& run) {
  const cusolverStatus_t status = OnStream(handle, name, std::forward<Run>(run));
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  return FromDriver(libraries::Synchronize(handle->stream));
}

// What bufferSize functions report: LAPACK has memory of its own, but a program may divide what it allocates.
// They check little more than the handle, as an H100's do.
template <typename Size>
cusolverStatus_t ReportSize(cusolverDnHandle_t handle, Size* size) {
  if (const cusolverStatus_t wrong = Check(handle, size != nullptr)) return wrong;
  *size = 64;
  return CUSOLVER_STATUS_SUCCESS;
}
inline void Note(int* info, int value) {
  if (info != nullptr) *info = value;
}

}  // namespace ptx2cpu::cusolver
