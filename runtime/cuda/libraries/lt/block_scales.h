// Scale factors for parts of operands of 8-bit floats: 128 elements along the depth (VEC128), or those of 128
// rows or columns (BLK128x128). Orders of the factors as an H200 reads them.
#pragma once

#include "runtime/cuda/libraries/lt/matmul.h"
#include "runtime/cuda/libraries/lt/matrix.h"

namespace ptx2cpu::cublaslt {

inline bool IsByBlocks(cublasLtMatmulMatrixScale_t mode) {
  return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F ||
         mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}
// Which modes go together, and with which types and operations: INVALID_VALUE, NOT_SUPPORTED.
cublasStatus_t CheckScales(const Matmul& call);
// Multiplies the column-major copy of `operand`, whose columns lie along the depth. Nothing for other modes.
void ScaleBlocks(float* copy, const Stored& operand, cublasLtMatmulMatrixScale_t mode, const float* scales);

}  // namespace ptx2cpu::cublaslt
