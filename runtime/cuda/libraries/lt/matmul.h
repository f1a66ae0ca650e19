// D = epilogue(alpha op(A) op(B) + beta C): which types go together, and the work of one call.
#pragma once

#include "cublaslt_api.h"

namespace ptx2cpu::cublaslt {

// What a call keeps of its descriptors, which a program may destroy at once.
struct Matmul {
  cuda::cublasLtMatmulDescOpaque_t operation;
  cuda::cublasLtMatrixLayoutOpaque_t a, b, c, d;
};

// INVALID_VALUE for shapes, orders and batches that do not fit, NOT_SUPPORTED for sizes that the engine
// cannot take.
cuda::cublasStatus_t CheckShapes(const Matmul& call);
// INVALID_VALUE for shapes that do not fit, NOT_SUPPORTED for types, orders and epilogues that do not.
cuda::cublasStatus_t CheckMatmul(const Matmul& call);

// The same for a call's descriptors, and NOT_INITIALIZED without a handle.
cuda::cublasStatus_t CheckMatmulCall(cuda::cublasLtHandle_t handle, cuda::cublasLtMatmulDesc_t descr,
                                     cuda::cublasLtMatrixLayout_t a, cuda::cublasLtMatrixLayout_t b,
                                     cuda::cublasLtMatrixLayout_t c, cuda::cublasLtMatrixLayout_t d);

// Scalars in host memory are read when the function is called; 16 bytes hold every type.
struct Scalars {
  alignas(16) unsigned char alpha[16] = {}, beta[16] = {};
  const void *alpha_device = nullptr, *beta_device = nullptr;
};
// For the pointer mode and scale type of the operation.
Scalars ReadScalars(const cuda::cublasLtMatmulDescOpaque_t& operation, const void* alpha, const void* beta);

void RunMatmul(const Matmul& call, const Scalars& scalars, const void* a, const void* b, const void* c,
               void* d);

}  // namespace ptx2cpu::cublaslt
