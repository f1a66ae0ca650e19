// What handles and descriptors hold. Work that is queued has copies.
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
