// The contents of handles and descriptors. Queued work has copies of them.
#pragma once

#include <cstdint>
#include <vector>

#include "cudnn_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"

namespace ptx2cpu::cudnn {

using namespace cuda;

inline constexpr int kMaxExtents = 8;

// A tensor of any layout: element (i, j, ...) is at i * strides[0] + j * strides[1] + ...
struct Layout {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> extents, strides;

  int64_t Count() const;
  bool IsPacked() const;  // in the order of its extents, without gaps
};
// Bytes of an element; 0 for types that are not supported.
int64_t BytesOf(cudnnDataType_t type);
std::vector<int64_t> PackedStrides(const std::vector<int64_t>& extents);
// Extents are N, C, and space; NHWC has the channels last in memory. Empty for formats that are not
// supported.
std::vector<int64_t> StridesOf(cudnnTensorFormat_t format, const std::vector<int64_t>& extents);

}  // namespace ptx2cpu::cudnn

namespace ptx2cpu::cuda {

struct cudnnContext {
  CUstream stream = nullptr;
};
struct cudnnTensorStruct {
  cudnn::Layout layout = {};
};
struct cudnnFilterStruct {
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  cudnn::Layout layout = {};  // extents: outputs, inputs of a group, and space
};
struct cudnnConvolutionStruct {
  std::vector<int64_t> pads = {}, strides = {}, dilations = {};
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
  int groups = 1;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  std::vector<int64_t> window = {}, pads = {}, strides = {};
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0, swish_beta = 1;
};
struct cudnnOpTensorStruct {
  cudnnOpTensorOp_t op = CUDNN_OP_TENSOR_ADD;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
};
struct cudnnReduceTensorStruct {
  cudnnReduceTensorOp_t op = CUDNN_REDUCE_TENSOR_ADD;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  cudnnReduceTensorIndices_t indices = CUDNN_REDUCE_TENSOR_NO_INDICES;
  cudnnIndicesType_t index_type = CUDNN_32BIT_INDICES;
};
struct cudnnDropoutStruct {
  float rate = 0;
  void* states = nullptr;
  unsigned long long seed = 0;
};
struct cudnnRNNStruct {
  cudnnRNNAlgo_t algo = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t cell = CUDNN_RNN_RELU;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnRNNInputMode_t input = CUDNN_LINEAR_INPUT;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, precision = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int32_t input_size = 0, hidden_size = 0, projected_size = 0, layers = 0;
  cudnnDropoutDescriptor_t dropout = nullptr;
  uint32_t flags = 0;
  cudnnRNNClipMode_t clip = CUDNN_RNN_CLIP_NONE;  // of the cells of an LSTM
  cudnnNanPropagation_t clip_nan = CUDNN_NOT_PROPAGATE_NAN;
  double low = 0, high = 0;
};
struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int steps = 0, batch = 0, vector = 0;
  std::vector<int> lengths = {};
  double fill = 0;  // an element of the type: what an output has after the end of its sequences
};
struct cudnnSeqDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int extents[4] = {};              // by cudnnSeqDataAxis_t
  cudnnSeqDataAxis_t axes[4] = {};  // the outermost first; the last is of the vector's elements
  std::vector<int> lengths = {};    // by batch, then beam
  bool fills = false;               // what no sequence has a step for becomes `fill`
  double fill = 0;
};
struct cudnnAttnStruct {
  unsigned mode = 0;
  int heads = 1;
  double scaler = 1;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, precision = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnDropoutDescriptor_t dropout = nullptr, output_dropout = nullptr;
  int size[3] = {}, projected[4] = {};  // of queries, keys, values, and outputs; 0: not projected
  int max_queries = 0, max_keys = 0, max_batch = 0, max_beam = 0;
};
struct cudnnCTCLossStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnLossNormalizationMode_t normalization = CUDNN_LOSS_NORMALIZATION_NONE;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  cudnnCTCGradMode_t gradients = CUDNN_CTC_ZERO_OOB_GRADIENTS;
  int max_labels = 0;  // of the functions of version 8; 0: any
};
struct cudnnLRNStruct {
  unsigned width = 5;
  double alpha = 1e-4, beta = 0.75, k = 2;
};
struct cudnnSpatialTransformerStruct {
  cudnnSamplerType_t sampler = CUDNN_SAMPLER_BILINEAR;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> extents = {};  // of the output
};
// Zeros around a tensor; then its space in parts that become channels, or the other way.
struct cudnnTensorTransformStruct {
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::vector<int64_t> before = {}, after = {};  // by extent
  std::vector<int64_t> folds = {};               // by extent of the space
  cudnnFoldingDirection_t direction = CUDNN_TRANSFORM_FOLD;
};

}  // namespace ptx2cpu::cuda

namespace ptx2cpu::cudnn {

cudnnStatus_t FromDriver(CUresult result);

// run() on the handle's stream.
template <typename Run>
cudnnStatus_t OnStream(cudnnHandle_t handle, const char* name, Run&& run) {
  return FromDriver(libraries::Submit(handle->stream, name, std::forward<Run>(run)));
}

template <typename... Pointers>
bool AllGiven(Pointers... pointers) {
  return ((pointers != nullptr) && ...);
}

}  // namespace ptx2cpu::cudnn
