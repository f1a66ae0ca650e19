// alpha and beta of a call, in host or device memory: one number, or one for each row.
#pragma once

#include "runtime/cuda/libraries/lt/matmul.h"
#include "runtime/cuda/libraries/lt/matrix.h"

namespace ptx2cpu::cublaslt {

template <typename C>
C ScalarOf(cudaDataType type, const void* data) {
  C value{};
  if (data != nullptr)
    WithStored(type, const_cast<void*>(data), [&](const auto* from) { value = ConvertFrom<C>(*from); });
  return value;
}
template <typename C>
struct Factors {
  cudaDataType type;
  const char *alpha, *beta;
  bool alpha_vector, beta_vector;
  C Alpha(int64_t i) const { return ScalarOf<C>(type, alpha + (alpha_vector ? i * BytesOf(type) : 0)); }
  C Beta(int64_t i) const {
    return beta == nullptr ? C{} : ScalarOf<C>(type, beta + (beta_vector ? i * BytesOf(type) : 0));
  }
};
template <typename C>
Factors<C> FactorsOf(const cublasLtMatmulDescOpaque_t& operation, const Scalars& scalars, int batch) {
  const auto mode = operation.pointer_mode;
  const bool vector = mode >= CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
  const auto* alpha = static_cast<const char*>(scalars.alpha_device);
  const auto* beta = static_cast<const char*>(scalars.beta_device);
  const int64_t shift = vector ? batch * operation.alpha_stride * BytesOf(operation.scale_type) : 0;
  return {operation.scale_type,
          alpha == nullptr ? reinterpret_cast<const char*>(scalars.alpha) : alpha + shift,
          mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO ? nullptr
          : beta == nullptr ? reinterpret_cast<const char*>(scalars.beta)
                            : beta + (mode == CUBLASLT_POINTER_MODE_DEVICE_VECTOR ? shift : 0),
          vector, mode == CUBLASLT_POINTER_MODE_DEVICE_VECTOR};
}

}  // namespace ptx2cpu::cublaslt
