// The cuDNN ABI: descriptors, modes, status.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/abi/library_types.h"
#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cuda {

using cudnnHandle_t = struct cudnnContext*;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnTensorTransformDescriptor_t = struct cudnnTensorTransformStruct*;
using cudnnFilterDescriptor_t = struct cudnnFilterStruct*;
using cudnnConvolutionDescriptor_t = struct cudnnConvolutionStruct*;
using cudnnPoolingDescriptor_t = struct cudnnPoolingStruct*;
using cudnnActivationDescriptor_t = struct cudnnActivationStruct*;
using cudnnOpTensorDescriptor_t = struct cudnnOpTensorStruct*;
using cudnnReduceTensorDescriptor_t = struct cudnnReduceTensorStruct*;
using cudnnDropoutDescriptor_t = struct cudnnDropoutStruct*;
using cudnnRNNDescriptor_t = struct cudnnRNNStruct*;
using cudnnRNNDataDescriptor_t = struct cudnnRNNDataStruct*;
using cudnnSeqDataDescriptor_t = struct cudnnSeqDataStruct*;
using cudnnAttnDescriptor_t = struct cudnnAttnStruct*;
using cudnnCTCLossDescriptor_t = struct cudnnCTCLossStruct*;
using cudnnLRNDescriptor_t = struct cudnnLRNStruct*;
using cudnnSpatialTransformerDescriptor_t = struct cudnnSpatialTransformerStruct*;

// Numbers of failures differ between versions: they are variables of the library.
enum cudnnStatus_t : int { CUDNN_STATUS_SUCCESS = 0 };
#define STATUS(name, number8, number9) extern const cudnnStatus_t CUDNN_STATUS_##name;
#include "runtime/cuda/abi/cudnn_status.def"

enum cudnnDataType_t : int {
  CUDNN_DATA_FLOAT = 0,
  CUDNN_DATA_DOUBLE = 1,
  CUDNN_DATA_HALF = 2,
  CUDNN_DATA_INT8 = 3,
  CUDNN_DATA_INT32 = 4,
  CUDNN_DATA_UINT8 = 6,
  CUDNN_DATA_BFLOAT16 = 9,
  CUDNN_DATA_INT64 = 10,
  CUDNN_DATA_BOOLEAN = 11,
  CUDNN_DATA_FP8_E4M3 = 12,
  CUDNN_DATA_FP8_E5M2 = 13,
};
enum cudnnTensorFormat_t : int { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1, CUDNN_TENSOR_NCHW_VECT_C = 2 };
enum cudnnMathType_t : int { CUDNN_DEFAULT_MATH = 0, CUDNN_FMA_MATH = 3 };
enum cudnnNanPropagation_t : int { CUDNN_NOT_PROPAGATE_NAN = 0, CUDNN_PROPAGATE_NAN = 1 };
enum cudnnDeterminism_t : int { CUDNN_NON_DETERMINISTIC = 0, CUDNN_DETERMINISTIC = 1 };
enum cudnnReorderType_t : int { CUDNN_DEFAULT_REORDER = 0, CUDNN_NO_REORDER = 1 };
enum cudnnConvolutionMode_t : int { CUDNN_CONVOLUTION = 0, CUDNN_CROSS_CORRELATION = 1 };
enum cudnnConvolutionFwdAlgo_t : int {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
  CUDNN_CONVOLUTION_FWD_ALGO_COUNT = 8,
};
enum cudnnConvolutionBwdDataAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT = 6,
};
enum cudnnConvolutionBwdFilterAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 = 1,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD = 4,  // cuDNN names it and does not have it
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT = 7,
};
template <typename Algorithm>
struct CudnnPerformance {
  Algorithm algo;
  cudnnStatus_t status;
  float time;  // milliseconds; -1: not measured
  size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};
using cudnnConvolutionFwdAlgoPerf_t = CudnnPerformance<cudnnConvolutionFwdAlgo_t>;
using cudnnConvolutionBwdDataAlgoPerf_t = CudnnPerformance<cudnnConvolutionBwdDataAlgo_t>;
using cudnnConvolutionBwdFilterAlgoPerf_t = CudnnPerformance<cudnnConvolutionBwdFilterAlgo_t>;

enum cudnnPoolingMode_t : int {
  CUDNN_POOLING_MAX = 0,
  CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
  CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
  CUDNN_POOLING_MAX_DETERMINISTIC = 3,
};
enum cudnnActivationMode_t : int {
  CUDNN_ACTIVATION_SIGMOID = 0,
  CUDNN_ACTIVATION_RELU = 1,
  CUDNN_ACTIVATION_TANH = 2,
  CUDNN_ACTIVATION_CLIPPED_RELU = 3,
  CUDNN_ACTIVATION_ELU = 4,
  CUDNN_ACTIVATION_IDENTITY = 5,
  CUDNN_ACTIVATION_SWISH = 6,
};
enum cudnnSoftmaxAlgorithm_t : int {
  CUDNN_SOFTMAX_FAST = 0,
  CUDNN_SOFTMAX_ACCURATE = 1,
  CUDNN_SOFTMAX_LOG = 2,
};
enum cudnnSoftmaxMode_t : int { CUDNN_SOFTMAX_MODE_INSTANCE = 0, CUDNN_SOFTMAX_MODE_CHANNEL = 1 };
enum cudnnBatchNormMode_t : int {
  CUDNN_BATCHNORM_PER_ACTIVATION = 0,
  CUDNN_BATCHNORM_SPATIAL = 1,
  CUDNN_BATCHNORM_SPATIAL_PERSISTENT = 2,
};
enum cudnnBatchNormOps_t : int {
  CUDNN_BATCHNORM_OPS_BN = 0,
  CUDNN_BATCHNORM_OPS_BN_ACTIVATION = 1,
  CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION = 2,
};
enum cudnnNormMode_t : int { CUDNN_NORM_PER_ACTIVATION = 0, CUDNN_NORM_PER_CHANNEL = 1 };
enum cudnnNormOps_t : int {
  CUDNN_NORM_OPS_NORM = 0,
  CUDNN_NORM_OPS_NORM_ACTIVATION = 1,
  CUDNN_NORM_OPS_NORM_ADD_ACTIVATION = 2,
};
enum cudnnNormAlgo_t : int { CUDNN_NORM_ALGO_STANDARD = 0, CUDNN_NORM_ALGO_PERSIST = 1 };
enum cudnnOpTensorOp_t : int {
  CUDNN_OP_TENSOR_ADD = 0,
  CUDNN_OP_TENSOR_MUL = 1,
  CUDNN_OP_TENSOR_MIN = 2,
  CUDNN_OP_TENSOR_MAX = 3,
  CUDNN_OP_TENSOR_SQRT = 4,
  CUDNN_OP_TENSOR_NOT = 5,
};
enum cudnnReduceTensorOp_t : int {
  CUDNN_REDUCE_TENSOR_ADD = 0,
  CUDNN_REDUCE_TENSOR_MUL = 1,
  CUDNN_REDUCE_TENSOR_MIN = 2,
  CUDNN_REDUCE_TENSOR_MAX = 3,
  CUDNN_REDUCE_TENSOR_AMAX = 4,
  CUDNN_REDUCE_TENSOR_AVG = 5,
  CUDNN_REDUCE_TENSOR_NORM1 = 6,
  CUDNN_REDUCE_TENSOR_NORM2 = 7,
  CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS = 8,
};
enum cudnnReduceTensorIndices_t : int {
  CUDNN_REDUCE_TENSOR_NO_INDICES = 0,
  CUDNN_REDUCE_TENSOR_FLATTENED_INDICES = 1,
};
enum cudnnIndicesType_t : int { CUDNN_32BIT_INDICES = 0 };
enum cudnnLRNMode_t : int { CUDNN_LRN_CROSS_CHANNEL_DIM1 = 0 };
enum cudnnDivNormMode_t : int { CUDNN_DIVNORM_PRECOMPUTED_MEANS = 0 };
enum cudnnSamplerType_t : int { CUDNN_SAMPLER_BILINEAR = 0 };
enum cudnnErrQueryMode_t : int { CUDNN_ERRQUERY_RAWCODE = 0, CUDNN_ERRQUERY_BLOCKING = 2 };

// Recurrent networks.
enum cudnnForwardMode_t : int { CUDNN_FWD_MODE_INFERENCE = 0, CUDNN_FWD_MODE_TRAINING = 1 };
enum cudnnWgradMode_t : int { CUDNN_WGRAD_MODE_ADD = 0, CUDNN_WGRAD_MODE_SET = 1 };

enum cudnnRNNAlgo_t : int { CUDNN_RNN_ALGO_STANDARD = 0, CUDNN_RNN_ALGO_COUNT = 4 };
enum cudnnRNNMode_t : int { CUDNN_RNN_RELU = 0, CUDNN_RNN_TANH = 1, CUDNN_LSTM = 2, CUDNN_GRU = 3 };
enum cudnnRNNBiasMode_t : int {
  CUDNN_RNN_NO_BIAS = 0,
  CUDNN_RNN_SINGLE_INP_BIAS = 1,
  CUDNN_RNN_DOUBLE_BIAS = 2,
  CUDNN_RNN_SINGLE_REC_BIAS = 3,
};
enum cudnnDirectionMode_t : int { CUDNN_UNIDIRECTIONAL = 0, CUDNN_BIDIRECTIONAL = 1 };
enum cudnnRNNInputMode_t : int { CUDNN_LINEAR_INPUT = 0, CUDNN_SKIP_INPUT = 1 };
enum cudnnRNNClipMode_t : int { CUDNN_RNN_CLIP_NONE = 0, CUDNN_RNN_CLIP_MINMAX = 1 };
enum cudnnRNNDataLayout_t : int {
  CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED = 0,
  CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED = 1,
  CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED = 2,
};

enum cudnnFoldingDirection_t : int { CUDNN_TRANSFORM_FOLD = 0, CUDNN_TRANSFORM_UNFOLD = 1 };
// Attention.
inline constexpr unsigned CUDNN_ATTN_QUERYMAP_ONE_TO_ONE = 1, CUDNN_ATTN_ENABLE_PROJ_BIASES = 2;
enum cudnnSeqDataAxis_t : int {
  CUDNN_SEQDATA_TIME_DIM = 0,
  CUDNN_SEQDATA_BATCH_DIM = 1,
  CUDNN_SEQDATA_BEAM_DIM = 2,
  CUDNN_SEQDATA_VECT_DIM = 3,
};
enum cudnnMultiHeadAttnWeightKind_t : int {
  CUDNN_MH_ATTN_Q_WEIGHTS = 0,
  CUDNN_MH_ATTN_O_WEIGHTS = 3,
  CUDNN_MH_ATTN_Q_BIASES = 4,
  CUDNN_MH_ATTN_O_BIASES = 7,
};

// Losses over alignments.
enum cudnnCTCLossAlgo_t : int {
  CUDNN_CTC_LOSS_ALGO_DETERMINISTIC = 0,
  CUDNN_CTC_LOSS_ALGO_NON_DETERMINISTIC = 1,
};
enum cudnnLossNormalizationMode_t : int {
  CUDNN_LOSS_NORMALIZATION_NONE = 0,
  CUDNN_LOSS_NORMALIZATION_SOFTMAX = 1,
};
// What the gradients after the end of an input become.
enum cudnnCTCGradMode_t : int { CUDNN_CTC_ZERO_OOB_GRADIENTS = 0, CUDNN_CTC_SKIP_OOB_GRADIENTS = 1 };

}  // namespace ptx2cpu::cuda
