// The cuBLASLt ABI: descriptors that a program may keep itself, attributes, heuristics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "runtime/cuda/abi/cublas_types.h"

namespace ptx2cpu::cuda {

using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtLoggerCallback_t = void (*)(int level, const char* function, const char* message);

enum cublasLtOrder_t : int {
  CUBLASLT_ORDER_COL = 0,
  CUBLASLT_ORDER_ROW = 1,
  CUBLASLT_ORDER_COL32 = 2,
  CUBLASLT_ORDER_COL4_4R2_8C = 3,
  CUBLASLT_ORDER_COL32_2R_4R4 = 4,
};
enum cublasLtPointerMode_t : int {
  CUBLASLT_POINTER_MODE_HOST = 0,
  CUBLASLT_POINTER_MODE_DEVICE = 1,
  CUBLASLT_POINTER_MODE_DEVICE_VECTOR = 2,
  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO = 3,
  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST = 4,
};
// Bits of an epilogue.
enum cublasLtEpilogue_t : unsigned {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_DRELU_BIT = 8,
  CUBLASLT_EPILOGUE_BGRAD_BIT = 16,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_DGELU_BIT = 64,
  CUBLASLT_EPILOGUE_AUX_BIT = 128,
  CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512,
};
// How the values of a scale pointer belong to a matrix.
enum cublasLtMatmulMatrixScale_t : int {
  CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 = 1,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 = 2,
  CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F = 4,
  CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F = 5,
};
// Where the matrices of a batch are: a stride apart, or each where an array of pointers names it.
enum cublasLtBatchMode_t : unsigned {
  CUBLASLT_BATCH_MODE_STRIDED = 0,
  CUBLASLT_BATCH_MODE_POINTER_ARRAY = 1
};

// A program may have these in memory of its own, of the size that the original has: they hold no pointers to
// ours.
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType type;
  cublasLtOrder_t order;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batch_count;
  cublasLtBatchMode_t batch_mode;
  int64_t batch_stride, plane_offset;
};
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType scale_type;
  cublasLtPointerMode_t pointer_mode;
  cublasOperation_t trans_a, trans_b, trans_c;
  cublasFillMode_t fill;
  uint32_t epilogue;
  void* bias;
  int64_t bias_stride;
  void* aux;
  int64_t aux_ld, aux_stride, alpha_stride;
  int32_t sm_count;
  int32_t aux_type, bias_type;                 // -1: the type of D
  cublasLtMatmulMatrixScale_t scale_modes[6];  // A, B, C, D, aux, D's own
  int8_t fast_accumulation;
  const float *a_scale, *b_scale, *c_scale, *d_scale;
  float* d_amax;
  const float* aux_scale;
  float* aux_amax;
  float* d_out_scale;
};
struct cublasLtMatrixTransformDescOpaque_t {
  cudaDataType scale_type;
  cublasLtPointerMode_t pointer_mode;
  cublasOperation_t trans_a, trans_b;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint32_t search_mode, reduction_schemes;
  uint64_t max_workspace;
  uint32_t alignment[4];
  float max_waves;
  uint64_t implementations;
};
// How double precision may be emulated.
struct cublasLtEmulationDescOpaque_t {
  cublasEmulationStrategy_t strategy;
  cudaEmulationSpecialValuesSupport special_values;
  cudaEmulationMantissaControl mantissa_control;
  int32_t max_mantissa_bits, mantissa_bit_offset;
  int32_t* mantissa_bits;
};
// The number of the algorithm, and what a program may configure: every algorithm computes the same here.
struct cublasLtMatmulAlgo_t {
  int32_t id;
  uint32_t config[9];
  uint64_t unused[3];
};
static_assert(sizeof(cublasLtMatrixLayoutOpaque_t) <= 64 && sizeof(cublasLtMatmulDescOpaque_t) <= 184 &&
              sizeof(cublasLtMatrixTransformDescOpaque_t) <= 64 &&
              sizeof(cublasLtMatmulPreferenceOpaque_t) <= 64 && sizeof(cublasLtEmulationDescOpaque_t) <= 64 &&
              sizeof(cublasLtMatmulAlgo_t) == 64);

using cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixTransformDesc_t = cublasLtMatrixTransformDescOpaque_t*;
using cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t*;
using cublasLtEmulationDesc_t = cublasLtEmulationDescOpaque_t*;

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspace_size;
  cublasStatus_t state;
  float waves_count;
  int reserved[4];
};

// Attributes by number; descriptor.cpp has their places.
enum cublasLtMatrixLayoutAttribute_t : int {};
enum cublasLtMatmulDescAttributes_t : int {};
enum cublasLtMatrixTransformDescAttributes_t : int {};
enum cublasLtMatmulPreferenceAttributes_t : int {};
enum cublasLtMatmulAlgoConfigAttributes_t : int {};
enum cublasLtMatmulAlgoCapAttributes_t : int {};
enum cublasLtEmulationDescAttributes_t : int {};

}  // namespace ptx2cpu::cuda
