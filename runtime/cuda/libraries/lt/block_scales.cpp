#include "runtime/cuda/libraries/lt/block_scales.h"

namespace ptx2cpu::cublaslt {

namespace {

constexpr int64_t kBlock = 128;
// Columns of blocks of BLK128x128 begin at multiples of this many factors.
constexpr int64_t kBlocksTogether = 4;

int64_t Blocks(int64_t elements) { return (elements + kBlock - 1) / kBlock; }

}  // namespace

cublasStatus_t CheckScales(const Matmul& call) {
  const auto& operation = call.operation;
  const auto a = operation.scale_modes[0], b = operation.scale_modes[1];
  for (size_t i = 2; i < std::size(operation.scale_modes); ++i) {
    const auto mode = operation.scale_modes[i];
    if (mode != CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F && mode != CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F)
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!IsByBlocks(a) || !IsByBlocks(b)) {
    if (a != b) return CUBLAS_STATUS_INVALID_VALUE;
    return a == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F || a == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool both_square = a == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F && a == b;
  const bool along_depth = operation.trans_a == CUBLAS_OP_T && operation.trans_b == CUBLAS_OP_N;
  constexpr uint64_t kDepthMultiple = 16;
  if (both_square || !along_depth || !IsFp8(call.a.type) || call.a.rows % kDepthMultiple != 0 ||
      operation.a_scale == nullptr || operation.b_scale == nullptr)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

void ScaleBlocks(float* copy, const Stored& operand, cublasLtMatmulMatrixScale_t mode, const float* scales) {
  if (!IsByBlocks(mode)) return;
  const int64_t depth = operand.rows(), columns = operand.columns();
  const int64_t apart = (Blocks(depth) + kBlocksTogether - 1) / kBlocksTogether * kBlocksTogether;
  const bool square = mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  libraries::ForRanges(columns, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, depth)),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t j = begin; j < end; ++j) {
                           for (int64_t i = 0; i < depth; ++i) {
                             const int64_t block = i / kBlock;
                             copy[i + j * depth] *=
                                 scales[square ? block + j / kBlock * apart : j + block * columns];
                           }
                         }
                       });
}

}  // namespace ptx2cpu::cublaslt
