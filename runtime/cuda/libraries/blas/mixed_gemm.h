// Products of narrow types: values of 8 and 16 bits become floats (all of them are floats exactly), BLAS
// multiplies these, and the result is scaled and rounded once. Products of integers are exact.
#pragma once

#include "runtime/cuda/libraries/blas/call.h"
#include "runtime/cuda/libraries/core/narrow.h"

namespace ptx2cpu::cublas {

using libraries::FromFloat;
using libraries::ToFloat;

struct ProductTypes {
  cudaDataType_t operands, result;
};
inline constexpr ProductTypes kHalfProduct = {CUDA_R_16F, CUDA_R_16F};

// op(A) is m by k, op(B) k by n; column-major, leading dimensions in elements.
struct MixedProduct {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  void* c;
  int64_t ldc;
  ProductTypes types;
};

// Operands of 16F, 16BF, 8I or 32F, results of 16F, 16BF or 32F.
void MultiplyMixed(const MixedProduct& p, float alpha, float beta);
// Operands of 8I, results of 32I: modulo 2^32.
void MultiplyIntegers(const MixedProduct& p, int32_t alpha, int32_t beta);
// Operands of complex 8I, results of complex 32F.
void MultiplyComplexIntegers(const MixedProduct& p, cuComplex alpha, cuComplex beta);

// Values that are stored as `type`, as floats: 16F, 16BF, 8I, 32F.
void Widen(cudaDataType_t type, const void* from, int64_t first, int64_t count, float* to);
// 16F, 16BF and 32F from floats.
void Round(cudaDataType_t type, const float* from, int64_t count, void* to, int64_t first);

}  // namespace ptx2cpu::cublas
