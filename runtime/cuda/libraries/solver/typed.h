// Shared code of the functions whose types are arguments: the type of a matrix by its number, sizes that fit
// LAPACK.
#pragma once

#include "runtime/cuda/libraries/solver/call.h"

namespace ptx2cpu::cusolver {

template <typename T>
struct Type {};

// body(Type<T>{}) for a type of matrices, if the other types of a call belong to it.
template <typename Body>
cusolverStatus_t WithType(cudaDataType type, std::initializer_list<cudaDataType> same, const Body& body) {
  for (const cudaDataType other : same) {
    if (other != type) return CUSOLVER_STATUS_INVALID_VALUE;
  }
  if (type == CUDA_R_32F) return body(Type<float>{});
  if (type == CUDA_R_64F) return body(Type<double>{});
  if (type == CUDA_C_32F) return body(Type<cuComplex>{});
  if (type == CUDA_C_64F) return body(Type<cuDoubleComplex>{});
  return CUSOLVER_STATUS_NOT_SUPPORTED;
}
inline bool IsType(cudaDataType type) {
  return WithType(type, {}, [](auto) { return CUSOLVER_STATUS_SUCCESS; }) == CUSOLVER_STATUS_SUCCESS;
}
// The type of a matrix's eigenvalues and singular values.
inline cudaDataType RealTypeOf(cudaDataType type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

// The handle, then sizes that are wrong, then sizes that are too large.
template <typename... Conditions>
cusolverStatus_t CheckSizes(cusolverDnHandle_t h, std::initializer_list<int64_t> sizes, Conditions... right) {
  if (const cusolverStatus_t wrong = Check(h, right...)) return wrong;
  const bool fit = std::ranges::all_of(sizes, [](int64_t size) { return libraries::FitBlas(size); });
  return fit ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_SUPPORTED;
}
inline int Narrow(int64_t size) { return static_cast<int>(size); }

inline cusolverStatus_t ReportSizes(cusolverStatus_t wrong, size_t* device, size_t* host) {
  if (wrong != CUSOLVER_STATUS_SUCCESS) return wrong;
  if (device == nullptr || host == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *device = 256, *host = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusolver
