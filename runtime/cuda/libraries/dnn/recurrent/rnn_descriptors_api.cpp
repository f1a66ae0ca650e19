// Descriptors of recurrent networks and their data; weights and their places.
#include <cstring>

#include "runtime/cuda/libraries/core/fp8.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/recurrent/network.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

template <typename Enum>
bool IsIn(Enum value, int last) {
  return static_cast<int>(value) >= 0 && static_cast<int>(value) <= last;
}
bool IsReal(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
         type == CUDNN_DATA_BFLOAT16;
}
// What a network of a type is computed in.
bool Fits(cudnnDataType_t type, cudnnDataType_t precision) {
  if (type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_FLOAT) return precision == type;
  return IsReal(type) && (precision == CUDNN_DATA_FLOAT || precision == type);
}

// The layout of a matrix or a bias; no extents where there is none.
void Describe(const WeightPlace& place, cudnnDataType_t type, Layout& layout) {
  layout = {.type = type, .extents = {}, .strides = {}};
  if (place.rows == 0) return;
  layout.extents = {1, place.rows, place.columns};
  layout.strides = {place.rows * place.columns, place.columns, 1};
}
void* AddressOf(const WeightPlace& place, cudnnDataType_t type, const void* weights) {
  if (place.rows == 0) return nullptr;
  return static_cast<std::byte*>(const_cast<void*>(weights)) + place.at * BytesOf(type);
}

}  // namespace

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t network, cudnnRNNAlgo_t algo, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t type,
                                       cudnnDataType_t mathPrecision, cudnnMathType_t math, int32_t inputSize,
                                       int32_t hiddenSize, int32_t projSize, int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  if (network == nullptr || !IsIn(algo, CUDNN_RNN_ALGO_COUNT - 1) || !IsIn(cell, CUDNN_GRU) ||
      !IsIn(bias, CUDNN_RNN_SINGLE_REC_BIAS) || !IsIn(direction, CUDNN_BIDIRECTIONAL) ||
      !IsIn(input, CUDNN_SKIP_INPUT) || !IsIn(math, CUDNN_FMA_MATH) || flags > 1)
    return CUDNN_STATUS_BAD_PARAM;
  if (inputSize < 1 || hiddenSize < 1 || layers < 1 || projSize < 1) return CUDNN_STATUS_BAD_PARAM;
  const bool projects = projSize != hiddenSize;
  if (!IsReal(type) || !Fits(type, mathPrecision) || projSize > hiddenSize ||
      (projects && cell != CUDNN_LSTM))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (input == CUDNN_SKIP_INPUT && inputSize != hiddenSize) return CUDNN_STATUS_BAD_PARAM;
  network->algo = algo, network->cell = cell, network->bias = bias, network->direction = direction;
  network->input = input, network->type = type, network->precision = mathPrecision, network->math = math;
  network->input_size = inputSize, network->hidden_size = hiddenSize, network->layers = layers;
  network->projected_size = projSize;
  network->dropout = dropout, network->flags = flags;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t network, cudnnRNNAlgo_t* algo,
                                       cudnnRNNMode_t* cell, cudnnRNNBiasMode_t* bias,
                                       cudnnDirectionMode_t* direction, cudnnRNNInputMode_t* input,
                                       cudnnDataType_t* type, cudnnDataType_t* mathPrecision,
                                       cudnnMathType_t* math, int32_t* inputSize, int32_t* hiddenSize,
                                       int32_t* projSize, int32_t* layers, cudnnDropoutDescriptor_t* dropout,
                                       uint32_t* flags) {
  if (network == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(algo, network->algo), Give(cell, network->cell), Give(bias, network->bias);
  Give(direction, network->direction), Give(input, network->input), Give(type, network->type);
  Give(mathPrecision, network->precision), Give(math, network->math), Give(inputSize, network->input_size);
  Give(hiddenSize, network->hidden_size), Give(projSize, network->projected_size);
  Give(layers, network->layers), Give(dropout, network->dropout), Give(flags, network->flags);
  return CUDNN_STATUS_SUCCESS;
}

// Nothing is built for a size of batch.
cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int) {
  return AllGiven(handle, network) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t network, cudnnRNNClipMode_t mode,
                                 cudnnNanPropagation_t nan, double low, double high) {
  // As recorded, the mode can be any number.
  if (network == nullptr || !IsIn(nan, CUDNN_PROPAGATE_NAN)) return CUDNN_STATUS_BAD_PARAM;
  if (mode == CUDNN_RNN_CLIP_MINMAX && !(low <= high)) return CUDNN_STATUS_BAD_PARAM;
  network->clip = mode, network->clip_nan = nan, network->low = low, network->high = high;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t network, cudnnRNNClipMode_t mode, double low,
                                 double high) {
  return cudnnRNNSetClip_v8(network, mode, CUDNN_NOT_PROPAGATE_NAN, low, high);
}
cudnnStatus_t cudnnRNNGetClip_v8(cudnnRNNDescriptor_t network, cudnnRNNClipMode_t* mode,
                                 cudnnNanPropagation_t* nan, double* low, double* high) {
  if (network == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(mode, network->clip), Give(nan, network->clip_nan), Give(low, network->low), Give(high, network->high);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnRNNGetClip_v9(cudnnRNNDescriptor_t network, cudnnRNNClipMode_t* mode, double* low,
                                 double* high) {
  return cudnnRNNGetClip_v8(network, mode, nullptr, low, high);
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int steps, int batch, int vectorSize,
                                        const int lengths[], void* fill) {
  if (!AllGiven(data, lengths) || !IsIn(layout, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED) || steps < 1 ||
      batch < 1 || vectorSize < 1)
    return CUDNN_STATUS_BAD_PARAM;
  if (!IsReal(type)) return CUDNN_STATUS_NOT_SUPPORTED;
  std::vector<int> list(lengths, lengths + batch);
  if (!std::ranges::all_of(list, [&](int length) { return length >= 0 && length <= steps; }))
    return CUDNN_STATUS_BAD_PARAM;
  // Packed data has the longest sequences first.
  const bool packed = layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  if (packed && !std::ranges::is_sorted(list, std::greater<>())) return CUDNN_STATUS_BAD_PARAM;
  *data = {type, layout, steps, batch, vectorSize, std::move(list), 0};
  if (fill != nullptr) Load(Layout{type, {1}, {1}}, fill, &data->fill);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t* type,
                                        cudnnRNNDataLayout_t* layout, int* steps, int* batch, int* vectorSize,
                                        int wanted, int lengths[], void* fill) {
  if (data == nullptr || wanted < 0) return CUDNN_STATUS_BAD_PARAM;
  Give(type, data->type), Give(layout, data->layout), Give(steps, data->steps), Give(batch, data->batch);
  Give(vectorSize, data->vector);
  for (int i = 0; lengths != nullptr && i < std::min(wanted, data->batch); ++i)
    lengths[i] = data->lengths[static_cast<size_t>(i)];
  if (fill != nullptr) Blend<double>(Layout{data->type, {1}, {1}}, fill, &data->fill, 1, 0);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t network, size_t* size) {
  if (!AllGiven(handle, network, size)) return CUDNN_STATUS_BAD_PARAM;
  *size = static_cast<size_t>(Weights(Network(*network)).count * BytesOf(network->type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int32_t pseudoLayer,
                                      size_t weightsSize, const void* weights, int32_t id,
                                      cudnnTensorDescriptor_t matrixLayout, void** matrix,
                                      cudnnTensorDescriptor_t biasLayout, void** bias) {
  if (!AllGiven(handle, network, matrixLayout, matrix, biasLayout, bias)) return CUDNN_STATUS_BAD_PARAM;
  const Network numbers(*network);
  const Weights places(numbers);
  const auto found = places.Find(numbers, pseudoLayer, id);
  if (!found || weightsSize < static_cast<size_t>(places.count * BytesOf(network->type)))
    return CUDNN_STATUS_BAD_PARAM;
  Describe(found->matrix, network->type, matrixLayout->layout);
  Describe(found->bias, network->type, biasLayout->layout);
  *matrix = AddressOf(found->matrix, network->type, weights);
  *bias = AddressOf(found->bias, network->type, weights);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cudnn
