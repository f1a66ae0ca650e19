// What every function of cuBLAS does with its handle: modes, scalars and results of either side, the stream.
#pragma once

#include <algorithm>
#include <complex>
#include <utility>

#include "cublas_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"

// What a cublasHandle_t points to. Used by one host thread at a time, as documented.
struct ptx2cpu::cuda::cublasContext {
  CUstream stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
};

namespace ptx2cpu::cublas {

cublasStatus_t FromDriver(CUresult result);

template <typename T>
struct RealOf {
  using Type = T;
};
template <typename T>
struct RealOf<std::complex<T>> {
  using Type = T;
};
template <>
struct RealOf<__half> {
  using Type = float;
};
template <typename T>
using Real = typename RealOf<T>::Type;
template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<Real<T>, T> && !std::is_same_v<T, __half>;

template <typename T>
T Conjugate(T value) {
  if constexpr (kIsComplex<T>) {
    return std::conj(value);
  } else {
    return value;
  }
}

// A scalar parameter: read when the function is called, or on the device when the work runs.
template <typename T>
class Scalar {
 public:
  Scalar(cublasHandle_t handle, const T* pointer)
      : value_(handle->pointer_mode == CUBLAS_POINTER_MODE_HOST ? *pointer : T{}),
        device_(handle->pointer_mode == CUBLAS_POINTER_MODE_HOST ? nullptr : pointer) {}
  Scalar(T value) : value_(value), device_(nullptr) {}
  T operator()() const { return device_ != nullptr ? *device_ : value_; }

 private:
  T value_;
  const T* device_;
};

// The checks, in the documented order: the handle, then numbers and enumerations, then pointers.
template <typename... Conditions>
cublasStatus_t Check(cublasHandle_t handle, Conditions... right) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return (right && ...) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
inline bool IsRight(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_CONJG; }
inline bool IsRight(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER;
}
inline bool IsRight(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
inline bool IsRight(cublasDiagType_t diag) {
  return diag == CUBLAS_DIAG_NON_UNIT || diag == CUBLAS_DIAG_UNIT;
}
inline bool LeadingIs(int64_t ld, int64_t rows) { return ld >= std::max<int64_t>(1, rows); }

template <typename Run>
cublasStatus_t OnStream(cublasHandle_t handle, const char* name, Run&& run) {
  return FromDriver(libraries::Submit(handle->stream, name, std::forward<Run>(run)));
}
// The same for work that writes a result to host or device memory, by the pointer mode: the caller reads one
// in host memory when the function has returned.
template <typename Run>
cublasStatus_t WithResult(cublasHandle_t handle, const char* name, Run&& run) {
  const cublasStatus_t status = OnStream(handle, name, std::forward<Run>(run));
  if (status != CUBLAS_STATUS_SUCCESS || handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) return status;
  return FromDriver(libraries::Synchronize(handle->stream));
}

}  // namespace ptx2cpu::cublas
