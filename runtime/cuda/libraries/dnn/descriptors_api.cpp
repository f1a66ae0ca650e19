// Handles, and descriptors of tensors and filters.
#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"

namespace ptx2cpu::cudnn {

namespace {

// Types of the layout of vectors of channels.
constexpr int kInt8x4 = 5, kUint8x4 = 7, kInt8x32 = 8;

cudnnStatus_t SetLayout(Layout& layout, cudnnDataType_t type, std::vector<int64_t> extents,
                        std::vector<int64_t> strides) {
  if (!ArePositive(extents)) return CUDNN_STATUS_BAD_PARAM;
  const bool has_vectors = type == kInt8x4 || type == kUint8x4 || type == kInt8x32;
  if (type < CUDNN_DATA_FLOAT || type > kLastType || (strides.empty() && !has_vectors))
    return CUDNN_STATUS_BAD_PARAM;
  if (BytesOf(type) == 0 || extents.size() > kMaxExtents) return CUDNN_STATUS_NOT_SUPPORTED;
  layout = {type, std::move(extents), std::move(strides)};
  return CUDNN_STATUS_SUCCESS;
}

// The bytes from a tensor's first element to the end of its last.
size_t Span(const Layout& layout) {
  int64_t last = 0;
  for (size_t axis = 0; axis < layout.extents.size(); ++axis)
    last += (layout.extents[axis] - 1) * layout.strides[axis];
  return static_cast<size_t>((last + 1) * BytesOf(layout.type));
}

}  // namespace

// -- handles --

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return libraries::CreateHandle(handle, CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_NOT_INITIALIZED);
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return Destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (!AllGiven(handle, stream)) return CUDNN_STATUS_BAD_PARAM;
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

// -- what all descriptors have --

#define DESCRIPTOR(name)                                                               \
  cudnnStatus_t cudnnCreate##name##Descriptor(cudnn##name##Descriptor_t* descriptor) { \
    return Create(descriptor);                                                         \
  }                                                                                    \
  cudnnStatus_t cudnnDestroy##name##Descriptor(cudnn##name##Descriptor_t descriptor) { \
    return Destroy(descriptor);                                                        \
  }
#define MEMBER(of, name, type, member, is_good)                                   \
  cudnnStatus_t cudnnSet##name(cudnn##of##Descriptor_t descriptor, type value) {  \
    if (descriptor == nullptr || !(is_good)) return CUDNN_STATUS_BAD_PARAM;       \
    descriptor->member = value;                                                   \
    return CUDNN_STATUS_SUCCESS;                                                  \
  }                                                                               \
  cudnnStatus_t cudnnGet##name(cudnn##of##Descriptor_t descriptor, type* value) { \
    if (!AllGiven(descriptor, value)) return CUDNN_STATUS_BAD_PARAM;              \
    *value = descriptor->member;                                                  \
    return CUDNN_STATUS_SUCCESS;                                                  \
  }
#include "runtime/cuda/libraries/dnn/descriptors.def"
#undef DESCRIPTOR
#undef MEMBER

// -- tensors --

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  const int extents[] = {n, c, h, w};
  return cudnnSetTensorNdDescriptorEx(tensor, format, type, 4, extents);
}
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int n, int c,
                                           int h, int w, int nStride, int cStride, int hStride, int wStride) {
  const int extents[] = {n, c, h, w}, strides[] = {nStride, cStride, hStride, wStride};
  return cudnnSetTensorNdDescriptor(tensor, type, 4, extents, strides);
}
cudnnStatus_t cudnnGetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t* type, int* n,
                                         int* c, int* h, int* w, int* nStride, int* cStride, int* hStride,
                                         int* wStride) {
  if (tensor == nullptr || tensor->layout.extents.size() != 4) return CUDNN_STATUS_BAD_PARAM;
  const Layout& layout = tensor->layout;
  Give(type, layout.type);
  int* const extents[] = {n, c, h, w};
  int* const strides[] = {nStride, cStride, hStride, wStride};
  for (size_t axis = 0; axis < 4; ++axis)
    Give(extents[axis], layout.extents[axis]), Give(strides[axis], layout.strides[axis]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                         const int extents[], const int strides[]) {
  if (!AllGiven(tensor, extents, strides) || count < 1) return CUDNN_STATUS_BAD_PARAM;
  if (count > kMaxExtents) return CUDNN_STATUS_NOT_SUPPORTED;
  return SetLayout(tensor->layout, type, ListOf(extents, count), ListOf(strides, count));
}
cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                           cudnnDataType_t type, int count, const int extents[]) {
  if (!AllGiven(tensor, extents) || count < 1) return CUDNN_STATUS_BAD_PARAM;
  if (count > kMaxExtents) return CUDNN_STATUS_NOT_SUPPORTED;
  const std::vector<int64_t> list = ListOf(extents, count);
  return SetLayout(tensor->layout, type, list, StridesOf(format, list));
}
cudnnStatus_t cudnnGetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, int wanted, cudnnDataType_t* type,
                                         int* count, int extents[], int strides[]) {
  if (tensor == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(type, tensor->layout.type), Give(count, tensor->layout.extents.size());
  GiveList(extents, tensor->layout.extents, wanted), GiveList(strides, tensor->layout.strides, wanted);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorSizeInBytes(cudnnTensorDescriptor_t tensor, size_t* size) {
  if (!AllGiven(tensor, size) || tensor->layout.extents.empty()) return CUDNN_STATUS_BAD_PARAM;
  *size = Span(tensor->layout);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived, cudnnTensorDescriptor_t xLayout,
                                            cudnnBatchNormMode_t mode) {
  if (!AllGiven(derived, xLayout) || xLayout->layout.extents.size() < 2 ||
      mode < CUDNN_BATCHNORM_PER_ACTIVATION || mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT)
    return CUDNN_STATUS_BAD_PARAM;
  std::vector<int64_t> extents = xLayout->layout.extents;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (axis == 0 || (axis > 1 && mode != CUDNN_BATCHNORM_PER_ACTIVATION)) extents[axis] = 1;
  }
  const cudnnDataType_t type =
      xLayout->layout.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  derived->layout = {type, extents, PackedStrides(extents)};
  return CUDNN_STATUS_SUCCESS;
}

// -- filters --

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  const int extents[] = {k, c, h, w};
  return cudnnSetFilterNdDescriptor(filter, type, format, 4, extents);
}
cudnnStatus_t cudnnGetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* k, int* c, int* h, int* w) {
  if (filter == nullptr || filter->layout.extents.size() != 4) return CUDNN_STATUS_BAD_PARAM;
  Give(type, filter->layout.type), Give(format, filter->format);
  int* const extents[] = {k, c, h, w};
  for (size_t axis = 0; axis < 4; ++axis) Give(extents[axis], filter->layout.extents[axis]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int extents[]) {
  if (!AllGiven(filter, extents) || count < 3) return CUDNN_STATUS_BAD_PARAM;
  if (count > kMaxExtents) return CUDNN_STATUS_NOT_SUPPORTED;
  const std::vector<int64_t> list = ListOf(extents, count);
  filter->format = format;
  return SetLayout(filter->layout, type, list, StridesOf(format, list));
}
cudnnStatus_t cudnnGetFilterNdDescriptor(cudnnFilterDescriptor_t filter, int wanted, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* count, int extents[]) {
  if (filter == nullptr || wanted < 1) return CUDNN_STATUS_BAD_PARAM;
  if (wanted > kMaxExtents) return CUDNN_STATUS_NOT_SUPPORTED;
  Give(type, filter->layout.type), Give(format, filter->format), Give(count, filter->layout.extents.size());
  GiveList(extents, filter->layout.extents, wanted);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetFilterSizeInBytes(cudnnFilterDescriptor_t filter, size_t* size) {
  if (!AllGiven(filter, size) || filter->layout.extents.empty()) return CUDNN_STATUS_BAD_PARAM;
  *size = Span(filter->layout);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cudnn
