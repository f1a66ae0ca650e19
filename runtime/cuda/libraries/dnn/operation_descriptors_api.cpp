// Descriptors of convolutions, pooling and other operations.
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/shapes.h"

namespace ptx2cpu::cudnn {

namespace {

bool IsRight(cudnnNanPropagation_t nan) {
  return nan == CUDNN_NOT_PROPAGATE_NAN || nan == CUDNN_PROPAGATE_NAN;
}
bool IsType(cudnnDataType_t type) { return type >= CUDNN_DATA_FLOAT && type <= kLastType; }

}  // namespace

// -- convolutions --

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int padH, int padW,
                                              int strideH, int strideW, int dilationH, int dilationW,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t type) {
  const int pads[] = {padH, padW}, strides[] = {strideH, strideW}, dilations[] = {dilationH, dilationW};
  return cudnnSetConvolutionNdDescriptor(convolution, 2, pads, strides, dilations, mode, type);
}
cudnnStatus_t cudnnGetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int* padH, int* padW,
                                              int* strideH, int* strideW, int* dilationH, int* dilationW,
                                              cudnnConvolutionMode_t* mode, cudnnDataType_t* type) {
  if (convolution == nullptr || convolution->pads.size() != 2) return CUDNN_STATUS_BAD_PARAM;
  Give(padH, convolution->pads[0]), Give(padW, convolution->pads[1]);
  Give(strideH, convolution->strides[0]), Give(strideW, convolution->strides[1]);
  Give(dilationH, convolution->dilations[0]), Give(dilationW, convolution->dilations[1]);
  Give(mode, convolution->mode), Give(type, convolution->type);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int count,
                                              const int pads[], const int strides[], const int dilations[],
                                              cudnnConvolutionMode_t mode, cudnnDataType_t type) {
  if (!AllGiven(convolution, pads, strides, dilations) || count < 0 || !IsType(type))
    return CUDNN_STATUS_BAD_PARAM;
  if (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION) return CUDNN_STATUS_BAD_PARAM;
  if (count > kMaxSpace) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!ArePositive(ListOf(pads, count), 0) || !ArePositive(ListOf(strides, count)) ||
      !ArePositive(ListOf(dilations, count)))
    return CUDNN_STATUS_BAD_PARAM;
  convolution->pads = ListOf(pads, count);
  convolution->strides = ListOf(strides, count);
  convolution->dilations = ListOf(dilations, count);
  convolution->mode = mode, convolution->type = type;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int wanted,
                                              int* count, int pads[], int strides[], int dilations[],
                                              cudnnConvolutionMode_t* mode, cudnnDataType_t* type) {
  if (convolution == nullptr || wanted < 0) return CUDNN_STATUS_BAD_PARAM;
  Give(count, convolution->pads.size()), Give(mode, convolution->mode), Give(type, convolution->type);
  GiveList(pads, convolution->pads, wanted), GiveList(strides, convolution->strides, wanted);
  GiveList(dilations, convolution->dilations, wanted);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(cudnnConvolutionDescriptor_t convolution,
                                                    cudnnTensorDescriptor_t xLayout,
                                                    cudnnFilterDescriptor_t filter, int* n, int* c, int* h,
                                                    int* w) {
  int extents[4];
  if (xLayout == nullptr || xLayout->layout.extents.size() != 4) return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong =
          cudnnGetConvolutionNdForwardOutputDim(convolution, xLayout, filter, 4, extents))
    return wrong;
  Give(n, extents[0]), Give(c, extents[1]), Give(h, extents[2]), Give(w, extents[3]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(cudnnConvolutionDescriptor_t convolution,
                                                    cudnnTensorDescriptor_t xLayout,
                                                    cudnnFilterDescriptor_t filter, int count,
                                                    int extents[]) {
  if (!AllGiven(convolution, xLayout, filter, extents)) return CUDNN_STATUS_BAD_PARAM;
  const std::vector<int64_t> found = OutputOf(*convolution, xLayout->layout, *filter);
  // As recorded, the first of them can be asked for, unlike those of pooling.
  if (found.empty() || count < 0 || static_cast<size_t>(count) > found.size()) return CUDNN_STATUS_BAD_PARAM;
  GiveList(extents, found, count);
  return CUDNN_STATUS_SUCCESS;
}

// -- pooling --

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int height, int width, int padH,
                                          int padW, int strideH, int strideW) {
  const int window[] = {height, width}, pads[] = {padH, padW}, strides[] = {strideH, strideW};
  return cudnnSetPoolingNdDescriptor(pooling, mode, nan, 2, window, pads, strides);
}
cudnnStatus_t cudnnGetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t* mode,
                                          cudnnNanPropagation_t* nan, int* height, int* width, int* padH,
                                          int* padW, int* strideH, int* strideW) {
  // As recorded, of three dimensions it gives the first two.
  if (pooling == nullptr || pooling->window.size() < 2) return CUDNN_STATUS_BAD_PARAM;
  Give(mode, pooling->mode), Give(nan, pooling->nan);
  Give(height, pooling->window[0]), Give(width, pooling->window[1]);
  Give(padH, pooling->pads[0]), Give(padW, pooling->pads[1]);
  Give(strideH, pooling->strides[0]), Give(strideW, pooling->strides[1]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int count, const int window[],
                                          const int pads[], const int strides[]) {
  if (!AllGiven(pooling, window, pads, strides) || count < 1) return CUDNN_STATUS_BAD_PARAM;
  if (mode < CUDNN_POOLING_MAX || mode > CUDNN_POOLING_MAX_DETERMINISTIC || !IsRight(nan))
    return CUDNN_STATUS_BAD_PARAM;
  if (count > kMaxSpace) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!ArePositive(ListOf(window, count)) || !ArePositive(ListOf(pads, count), 0) ||
      !ArePositive(ListOf(strides, count)))
    return CUDNN_STATUS_BAD_PARAM;
  *pooling = {mode, nan, ListOf(window, count), ListOf(pads, count), ListOf(strides, count)};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, int wanted,
                                          cudnnPoolingMode_t* mode, cudnnNanPropagation_t* nan, int* count,
                                          int window[], int pads[], int strides[]) {
  if (pooling == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(mode, pooling->mode), Give(nan, pooling->nan), Give(count, pooling->window.size());
  GiveList(window, pooling->window, wanted), GiveList(pads, pooling->pads, wanted);
  GiveList(strides, pooling->strides, wanted);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetPooling2dForwardOutputDim(cudnnPoolingDescriptor_t pooling,
                                                cudnnTensorDescriptor_t xLayout, int* n, int* c, int* h,
                                                int* w) {
  int extents[4];
  if (const cudnnStatus_t wrong = cudnnGetPoolingNdForwardOutputDim(pooling, xLayout, 4, extents))
    return wrong;
  Give(n, extents[0]), Give(c, extents[1]), Give(h, extents[2]), Give(w, extents[3]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(cudnnPoolingDescriptor_t pooling,
                                                cudnnTensorDescriptor_t xLayout, int count, int extents[]) {
  if (!AllGiven(pooling, xLayout, extents)) return CUDNN_STATUS_BAD_PARAM;
  const std::vector<int64_t> found = OutputOf(*pooling, xLayout->layout);
  if (found.empty() || static_cast<size_t>(count) != found.size()) return CUDNN_STATUS_BAD_PARAM;
  GiveList(extents, found, count);
  return CUDNN_STATUS_SUCCESS;
}

// -- operations --

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t nan, double coefficient) {
  if (activation == nullptr || mode < CUDNN_ACTIVATION_SIGMOID || mode > CUDNN_ACTIVATION_SWISH ||
      !IsRight(nan))
    return CUDNN_STATUS_BAD_PARAM;
  activation->mode = mode, activation->nan = nan, activation->coefficient = coefficient;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetActivationDescriptor(cudnnActivationDescriptor_t activation,
                                           cudnnActivationMode_t* mode, cudnnNanPropagation_t* nan,
                                           double* coefficient) {
  if (activation == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(mode, activation->mode), Give(nan, activation->nan), Give(coefficient, activation->coefficient);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t operation, cudnnOpTensorOp_t op,
                                         cudnnDataType_t type, cudnnNanPropagation_t nan) {
  if (operation == nullptr || op < CUDNN_OP_TENSOR_ADD || op > CUDNN_OP_TENSOR_NOT || !IsType(type) ||
      !IsRight(nan))
    return CUDNN_STATUS_BAD_PARAM;
  *operation = {op, type, nan};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetOpTensorDescriptor(cudnnOpTensorDescriptor_t operation, cudnnOpTensorOp_t* op,
                                         cudnnDataType_t* type, cudnnNanPropagation_t* nan) {
  if (operation == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(op, operation->op), Give(type, operation->type), Give(nan, operation->nan);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduction,
                                             cudnnReduceTensorOp_t op, cudnnDataType_t type,
                                             cudnnNanPropagation_t nan, cudnnReduceTensorIndices_t indices,
                                             cudnnIndicesType_t indexType) {
  if (reduction == nullptr || op < CUDNN_REDUCE_TENSOR_ADD || op > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ||
      !IsType(type) || !IsRight(nan) || indices < CUDNN_REDUCE_TENSOR_NO_INDICES ||
      indices > CUDNN_REDUCE_TENSOR_FLATTENED_INDICES || indexType < CUDNN_32BIT_INDICES || indexType > 3)
    return CUDNN_STATUS_BAD_PARAM;
  if (indexType != CUDNN_32BIT_INDICES) return CUDNN_STATUS_NOT_SUPPORTED;
  *reduction = {op, type, nan, indices, indexType};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduction,
                                             cudnnReduceTensorOp_t* op, cudnnDataType_t* type,
                                             cudnnNanPropagation_t* nan, cudnnReduceTensorIndices_t* indices,
                                             cudnnIndicesType_t* indexType) {
  if (reduction == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(op, reduction->op), Give(type, reduction->type), Give(nan, reduction->nan);
  Give(indices, reduction->indices), Give(indexType, reduction->index_type);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cudnn
