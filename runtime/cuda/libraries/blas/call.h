// The start of every function of cuBLAS: its handle, modes, scalars and results in memory of either side, the
// stream.
#pragma once

#include <algorithm>
#include <complex>
#include <utility>

#include "cublas_api.h"
#include "runtime/cuda/libraries/core/numbers.h"
#include "runtime/cuda/libraries/core/stream_call.h"

// What a cublasHandle_t points to. Used by one host thread at a time, as documented.
struct ptx2cpu::cuda::cublasContext {
  CUstream stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;
  // Settings of emulation, which no product uses.
  cublasEmulationStrategy_t emulation = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  cudaEmulationSpecialValuesSupport special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT;
  cudaEmulationMantissaControl mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
  int max_mantissa_bits = 0, mantissa_bit_offset = 0;
  int* mantissa_bits = nullptr;
};

namespace ptx2cpu::cublas {

cublasStatus_t FromDriver(CUresult result);

using libraries::Conjugate;
using libraries::kIsComplex;
using libraries::Real;
using libraries::Scalar;

// The checks, in the documented order: the handle, then numbers and enumerations, then pointers.
template <typename... Conditions>
cublasStatus_t Check(cublasHandle_t handle, Conditions... right) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return (right && ...) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
// CUBLAS_OP_CONJG is for products with vectors alone.
inline bool IsRight(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }
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
