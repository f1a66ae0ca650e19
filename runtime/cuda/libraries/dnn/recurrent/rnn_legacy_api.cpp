// Recurrent networks as before version 8: a step has a tensor of its sequences, longest first, the size of
// the input is that of the tensor, weights have a filter's descriptor. Each function does what the one of
// version 8 does, whose weights have the same places.
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/recurrent/network.h"

namespace ptx2cpu::cudnn {

namespace {

// The steps of a call as one description of sequences; nothing where they are invalid.
std::optional<cudnnRNNDataStruct> DataOf(int steps, const cudnnTensorDescriptor_t* layouts) {
  if (layouts == nullptr || steps < 1) return std::nullopt;
  cudnnRNNDataStruct data;
  data.layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, data.steps = steps;
  int64_t batch = 0;
  for (int step = 0; step < steps; ++step) {
    if (layouts[step] == nullptr) return std::nullopt;
    const Layout& layout = layouts[step]->layout;
    if (layout.extents.size() < 3 || layout.extents[2] != 1 || !layout.IsPacked()) return std::nullopt;
    if (step == 0) {
      batch = layout.extents[0];
      data.type = layout.type, data.batch = static_cast<int>(batch);
      data.vector = static_cast<int>(layout.extents[1]);
      data.lengths.assign(static_cast<size_t>(batch), 0);
    }
    if (layout.extents[0] > batch || layout.extents[1] != data.vector || layout.type != data.type)
      return std::nullopt;
    batch = layout.extents[0];
    for (int64_t i = 0; i < batch; ++i) data.lengths[static_cast<size_t>(i)] = step + 1;
  }
  return data;
}

// The network with what version 8 has in its descriptor.
cudnnRNNStruct NetworkOf(const cudnnRNNStruct& network, cudnnDataType_t type, int64_t input) {
  cudnnRNNStruct result = network;
  result.type = type, result.input_size = static_cast<int32_t>(input);
  return result;
}
cudnnRNNStruct NetworkOf(const cudnnRNNStruct& network, const cudnnRNNDataStruct& input) {
  return NetworkOf(network, input.type, input.vector);
}
bool IsWhole(const cudnnRNNStruct& network) {
  return network.layers > 0 && BytesOf(network.type) > 0 &&
         (network.input != CUDNN_SKIP_INPUT || network.input_size == network.hidden_size);
}
size_t BytesOfWeights(cudnnFilterDescriptor_t layout) {
  return static_cast<size_t>(layout->layout.Count() * BytesOf(layout->layout.type));
}
cudnnTensorDescriptor_t Either(cudnnTensorDescriptor_t first, cudnnTensorDescriptor_t second) {
  return first != nullptr ? first : second;
}
// The states have one description in version 8.
bool AreAlike(cudnnTensorDescriptor_t first, cudnnTensorDescriptor_t second) {
  return !AllGiven(first, second) ||
         (first->layout.extents == second->layout.extents &&
          first->layout.strides == second->layout.strides && first->layout.type == second->layout.type);
}

struct StatesOfCall {
  cudnnTensorDescriptor_t hx_layout;
  const void* hx;
  cudnnTensorDescriptor_t cx_layout;
  const void* cx;
  cudnnTensorDescriptor_t hy_layout;
  void* hy;
  cudnnTensorDescriptor_t cy_layout;
  void* cy;

  bool AreRight() const { return AreAlike(hx_layout, hy_layout) && AreAlike(cx_layout, cy_layout); }
};

cudnnStatus_t Forward(cudnnForwardMode_t mode, cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                      cudnnRNNDataDescriptor_t in, const void* x, const StatesOfCall& states,
                      cudnnFilterDescriptor_t weights_layout, const void* weights,
                      cudnnRNNDataDescriptor_t out, void* y, size_t reserve_size, void* reserve) {
  if (!AllGiven(handle, network, in, out, weights_layout) || !states.AreRight())
    return CUDNN_STATUS_BAD_PARAM;
  cudnnRNNStruct whole = NetworkOf(*network, *in);
  if (!IsWhole(whole)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnRNNForward(handle, &whole, mode, nullptr, in, x, out, y,
                         Either(states.hx_layout, states.hy_layout), states.hx, states.hy,
                         Either(states.cx_layout, states.cy_layout), states.cx, states.cy,
                         BytesOfWeights(weights_layout), weights, 0, nullptr, reserve_size, reserve);
}

struct Gradients {
  cudnnTensorDescriptor_t dhy_layout;
  const void* dhy;
  cudnnTensorDescriptor_t dcy_layout;
  const void* dcy;
  cudnnTensorDescriptor_t hx_layout;
  const void* hx;
  cudnnTensorDescriptor_t cx_layout;
  const void* cx;
  cudnnTensorDescriptor_t dhx_layout;
  void* dhx;
  cudnnTensorDescriptor_t dcx_layout;
  void* dcx;

  cudnnTensorDescriptor_t H() const { return Either(hx_layout, Either(dhy_layout, dhx_layout)); }
  cudnnTensorDescriptor_t C() const { return Either(cx_layout, Either(dcy_layout, dcx_layout)); }
  bool AreRight() const {
    return AreAlike(H(), dhy_layout) && AreAlike(H(), dhx_layout) && AreAlike(C(), dcy_layout) &&
           AreAlike(C(), dcx_layout);
  }
};

cudnnStatus_t BackwardData(cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnRNNDataDescriptor_t out,
                           const void* y, const void* dy, cudnnRNNDataDescriptor_t in, void* dx,
                           const Gradients& g, cudnnFilterDescriptor_t weights_layout, const void* weights,
                           size_t reserve_size, void* reserve) {
  if (!AllGiven(handle, network, in, out, weights_layout) || !g.AreRight()) return CUDNN_STATUS_BAD_PARAM;
  cudnnRNNStruct whole = NetworkOf(*network, *in);
  if (!IsWhole(whole)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnRNNBackwardData_v8(handle, &whole, nullptr, out, y, dy, in, dx, g.H(), g.hx, g.dhy, g.dhx,
                                 g.C(), g.cx, g.dcy, g.dcx, BytesOfWeights(weights_layout), weights, 0,
                                 nullptr, reserve_size, reserve);
}

cudnnStatus_t BackwardWeights(cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnRNNDataDescriptor_t in,
                              const void* x, cudnnTensorDescriptor_t hx_layout, const void* hx,
                              cudnnRNNDataDescriptor_t out, const void* y,
                              cudnnFilterDescriptor_t weights_layout, void* dweights, size_t reserve_size,
                              void* reserve) {
  if (!AllGiven(handle, network, in, out, weights_layout)) return CUDNN_STATUS_BAD_PARAM;
  cudnnRNNStruct whole = NetworkOf(*network, *in);
  if (!IsWhole(whole)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnRNNBackwardWeights_v8(handle, &whole, CUDNN_WGRAD_MODE_ADD, nullptr, in, x, hx_layout, hx, out,
                                    y, BytesOfWeights(weights_layout), dweights, 0, nullptr, reserve_size,
                                    reserve);
}

template <typename T>
T* AddressIf(std::optional<T>& value) {
  return value ? &*value : nullptr;
}

cudnnStatus_t Find(bool bias, cudnnHandle_t handle, cudnnRNNDescriptor_t network, int pseudo_layer,
                   cudnnTensorDescriptor_t x_layout, cudnnFilterDescriptor_t weights_layout,
                   const void* weights, int id, cudnnFilterDescriptor_t layout, void** at) {
  if (!AllGiven(handle, network, x_layout, weights_layout, layout, at) || x_layout->layout.extents.size() < 2)
    return CUDNN_STATUS_BAD_PARAM;
  cudnnRNNStruct whole = NetworkOf(*network, x_layout->layout.type, x_layout->layout.extents[1]);
  if (!IsWhole(whole)) return CUDNN_STATUS_BAD_PARAM;
  cudnnTensorStruct matrix, vector;
  void *matrix_at = nullptr, *vector_at = nullptr;
  const cudnnStatus_t status =
      cudnnGetRNNWeightParams(handle, &whole, pseudo_layer, BytesOfWeights(weights_layout), weights, id,
                              &matrix, &matrix_at, &vector, &vector_at);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  layout->format = CUDNN_TENSOR_NCHW;
  layout->layout = bias ? vector.layout : matrix.layout;
  *at = bias ? vector_at : matrix_at;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnSetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int hiddenSize,
                                       int layers, cudnnDropoutDescriptor_t dropout,
                                       cudnnRNNInputMode_t input, cudnnDirectionMode_t direction,
                                       cudnnRNNMode_t cell, cudnnRNNAlgo_t algo,
                                       cudnnDataType_t mathPrecision) {
  if (!AllGiven(handle, network, dropout)) return CUDNN_STATUS_BAD_PARAM;
  // The type is that of the data, the size of the input that of a tensor: any is right here.
  const cudnnDataType_t type = mathPrecision == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE
                               : mathPrecision == CUDNN_DATA_HALF ? CUDNN_DATA_HALF
                                                                  : CUDNN_DATA_FLOAT;
  return cudnnSetRNNDescriptor_v8(network, algo, cell, CUDNN_RNN_DOUBLE_BIAS, direction, input, type,
                                  mathPrecision, network->math, hiddenSize, hiddenSize, hiddenSize, layers,
                                  dropout, 0);
}
cudnnStatus_t cudnnGetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int* hiddenSize,
                                       int* layers, cudnnDropoutDescriptor_t* dropout,
                                       cudnnRNNInputMode_t* input, cudnnDirectionMode_t* direction,
                                       cudnnRNNMode_t* cell, cudnnRNNAlgo_t* algo,
                                       cudnnDataType_t* mathPrecision) {
  if (!AllGiven(handle, network)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnGetRNNDescriptor_v8(network, algo, cell, nullptr, direction, input, nullptr, mathPrecision,
                                  nullptr, nullptr, hiddenSize, nullptr, layers, dropout, nullptr);
}
// Outputs are projected together with what the next step reads.
cudnnStatus_t cudnnSetRNNProjectionLayers(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                          int recurrentSize, int outputSize) {
  if (!AllGiven(handle, network) || recurrentSize < 0 || outputSize < 0) return CUDNN_STATUS_BAD_PARAM;
  if (outputSize != 0 || recurrentSize > network->hidden_size ||
      (recurrentSize != 0 && network->cell != CUDNN_LSTM))
    return CUDNN_STATUS_NOT_SUPPORTED;
  network->projected_size = recurrentSize == 0 ? network->hidden_size : recurrentSize;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNProjectionLayers(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                          int* recurrentSize, int* outputSize) {
  if (!AllGiven(handle, network)) return CUDNN_STATUS_BAD_PARAM;
  Give(recurrentSize, network->projected_size == network->hidden_size ? 0 : network->projected_size);
  Give(outputSize, 0);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnRNNSetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnRNNClipMode_t mode,
                              cudnnNanPropagation_t nan, double low, double high) {
  return handle == nullptr ? CUDNN_STATUS_BAD_PARAM : cudnnRNNSetClip_v8(network, mode, nan, low, high);
}
cudnnStatus_t cudnnRNNGetClip(cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnRNNClipMode_t* mode,
                              cudnnNanPropagation_t* nan, double* low, double* high) {
  return handle == nullptr ? CUDNN_STATUS_BAD_PARAM : cudnnRNNGetClip_v8(network, mode, nan, low, high);
}

cudnnStatus_t cudnnGetRNNWorkspaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int steps,
                                       const cudnnTensorDescriptor_t* xLayouts, size_t* size) {
  if (!AllGiven(handle, network, size) || !DataOf(steps, xLayouts)) return CUDNN_STATUS_BAD_PARAM;
  *size = 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNTrainingReserveSize(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int steps,
                                             const cudnnTensorDescriptor_t* xLayouts, size_t* size) {
  auto data = DataOf(steps, xLayouts);
  if (!AllGiven(handle, network, size) || !data) return CUDNN_STATUS_BAD_PARAM;
  cudnnRNNStruct whole = NetworkOf(*network, *data);
  return cudnnGetRNNTempSpaceSizes(handle, &whole, CUDNN_FWD_MODE_TRAINING, &*data, nullptr, size);
}
cudnnStatus_t cudnnGetRNNParamsSize(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                    cudnnTensorDescriptor_t xLayout, size_t* size, cudnnDataType_t type) {
  if (!AllGiven(handle, network, xLayout, size) || xLayout->layout.extents.size() < 2 ||
      type != xLayout->layout.type)
    return CUDNN_STATUS_BAD_PARAM;
  cudnnRNNStruct whole = NetworkOf(*network, type, xLayout->layout.extents[1]);
  return IsWhole(whole) ? cudnnGetRNNWeightSpaceSize(handle, &whole, size) : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnGetRNNLinLayerMatrixParams(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                              int pseudoLayer, cudnnTensorDescriptor_t xLayout,
                                              cudnnFilterDescriptor_t weightsLayout, const void* weights,
                                              int id, cudnnFilterDescriptor_t layout, void** at) {
  return Find(false, handle, network, pseudoLayer, xLayout, weightsLayout, weights, id, layout, at);
}
cudnnStatus_t cudnnGetRNNLinLayerBiasParams(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                            int pseudoLayer, cudnnTensorDescriptor_t xLayout,
                                            cudnnFilterDescriptor_t weightsLayout, const void* weights,
                                            int id, cudnnFilterDescriptor_t layout, void** at) {
  return Find(true, handle, network, pseudoLayer, xLayout, weightsLayout, weights, id, layout, at);
}

cudnnStatus_t cudnnRNNForwardInference(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int steps,
                                       const cudnnTensorDescriptor_t* xLayouts, const void* x,
                                       cudnnTensorDescriptor_t hxLayout, const void* hx,
                                       cudnnTensorDescriptor_t cxLayout, const void* cx,
                                       cudnnFilterDescriptor_t weightsLayout, const void* weights,
                                       const cudnnTensorDescriptor_t* yLayouts, void* y,
                                       cudnnTensorDescriptor_t hyLayout, void* hy,
                                       cudnnTensorDescriptor_t cyLayout, void* cy, void*, size_t) {
  auto in = DataOf(steps, xLayouts), out = DataOf(steps, yLayouts);
  return Forward(CUDNN_FWD_MODE_INFERENCE, handle, network, AddressIf(in), x,
                 {hxLayout, hx, cxLayout, cx, hyLayout, hy, cyLayout, cy}, weightsLayout, weights,
                 AddressIf(out), y, 0, nullptr);
}
cudnnStatus_t cudnnRNNForwardTraining(
    cudnnHandle_t handle, cudnnRNNDescriptor_t network, int steps, const cudnnTensorDescriptor_t* xLayouts,
    const void* x, cudnnTensorDescriptor_t hxLayout, const void* hx, cudnnTensorDescriptor_t cxLayout,
    const void* cx, cudnnFilterDescriptor_t weightsLayout, const void* weights,
    const cudnnTensorDescriptor_t* yLayouts, void* y, cudnnTensorDescriptor_t hyLayout, void* hy,
    cudnnTensorDescriptor_t cyLayout, void* cy, void*, size_t, void* reserve, size_t reserveSize) {
  auto in = DataOf(steps, xLayouts), out = DataOf(steps, yLayouts);
  return Forward(CUDNN_FWD_MODE_TRAINING, handle, network, AddressIf(in), x,
                 {hxLayout, hx, cxLayout, cx, hyLayout, hy, cyLayout, cy}, weightsLayout, weights,
                 AddressIf(out), y, reserveSize, reserve);
}
cudnnStatus_t cudnnRNNBackwardData(
    cudnnHandle_t handle, cudnnRNNDescriptor_t network, int steps, const cudnnTensorDescriptor_t* yLayouts,
    const void* y, const cudnnTensorDescriptor_t* dyLayouts, const void* dy,
    cudnnTensorDescriptor_t dhyLayout, const void* dhy, cudnnTensorDescriptor_t dcyLayout, const void* dcy,
    cudnnFilterDescriptor_t weightsLayout, const void* weights, cudnnTensorDescriptor_t hxLayout,
    const void* hx, cudnnTensorDescriptor_t cxLayout, const void* cx,
    const cudnnTensorDescriptor_t* dxLayouts, void* dx, cudnnTensorDescriptor_t dhxLayout, void* dhx,
    cudnnTensorDescriptor_t dcxLayout, void* dcx, void*, size_t, void* reserve, size_t reserveSize) {
  auto out = DataOf(steps, yLayouts), in = DataOf(steps, dxLayouts), gradient = DataOf(steps, dyLayouts);
  if (!out || !gradient || out->lengths != gradient->lengths) return CUDNN_STATUS_BAD_PARAM;
  return BackwardData(
      handle, network, &*out, y, dy, AddressIf(in), dx,
      {dhyLayout, dhy, dcyLayout, dcy, hxLayout, hx, cxLayout, cx, dhxLayout, dhx, dcxLayout, dcx},
      weightsLayout, weights, reserveSize, reserve);
}
cudnnStatus_t cudnnRNNBackwardWeights(cudnnHandle_t handle, cudnnRNNDescriptor_t network, int steps,
                                      const cudnnTensorDescriptor_t* xLayouts, const void* x,
                                      cudnnTensorDescriptor_t hxLayout, const void* hx,
                                      const cudnnTensorDescriptor_t* yLayouts, const void* y, const void*,
                                      size_t, cudnnFilterDescriptor_t weightsLayout, void* dweights,
                                      const void* reserve, size_t reserveSize) {
  auto in = DataOf(steps, xLayouts), out = DataOf(steps, yLayouts);
  return BackwardWeights(handle, network, AddressIf(in), x, hxLayout, hx, AddressIf(out), y, weightsLayout,
                         dweights, reserveSize, const_cast<void*>(reserve));
}

// Attention within a network (keys, queries) is documented as not made by any version: its arguments are
// null.
cudnnStatus_t cudnnRNNForwardInferenceEx(
    cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnRNNDataDescriptor_t xData, const void* x,
    cudnnTensorDescriptor_t hxLayout, const void* hx, cudnnTensorDescriptor_t cxLayout, const void* cx,
    cudnnFilterDescriptor_t weightsLayout, const void* weights, cudnnRNNDataDescriptor_t yData, void* y,
    cudnnTensorDescriptor_t hyLayout, void* hy, cudnnTensorDescriptor_t cyLayout, void* cy,
    cudnnRNNDataDescriptor_t, const void*, cudnnRNNDataDescriptor_t, void*, cudnnRNNDataDescriptor_t, void*,
    cudnnRNNDataDescriptor_t, void*, void*, size_t) {
  return Forward(CUDNN_FWD_MODE_INFERENCE, handle, network, xData, x,
                 {hxLayout, hx, cxLayout, cx, hyLayout, hy, cyLayout, cy}, weightsLayout, weights, yData, y,
                 0, nullptr);
}
cudnnStatus_t cudnnRNNForwardTrainingEx(
    cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnRNNDataDescriptor_t xData, const void* x,
    cudnnTensorDescriptor_t hxLayout, const void* hx, cudnnTensorDescriptor_t cxLayout, const void* cx,
    cudnnFilterDescriptor_t weightsLayout, const void* weights, cudnnRNNDataDescriptor_t yData, void* y,
    cudnnTensorDescriptor_t hyLayout, void* hy, cudnnTensorDescriptor_t cyLayout, void* cy,
    cudnnRNNDataDescriptor_t, const void*, cudnnRNNDataDescriptor_t, void*, cudnnRNNDataDescriptor_t, void*,
    cudnnRNNDataDescriptor_t, void*, void*, size_t, void* reserve, size_t reserveSize) {
  return Forward(CUDNN_FWD_MODE_TRAINING, handle, network, xData, x,
                 {hxLayout, hx, cxLayout, cx, hyLayout, hy, cyLayout, cy}, weightsLayout, weights, yData, y,
                 reserveSize, reserve);
}
cudnnStatus_t cudnnRNNBackwardDataEx(
    cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnRNNDataDescriptor_t yData, const void* y,
    cudnnRNNDataDescriptor_t dyData, const void* dy, cudnnRNNDataDescriptor_t, const void*,
    cudnnTensorDescriptor_t dhyLayout, const void* dhy, cudnnTensorDescriptor_t dcyLayout, const void* dcy,
    cudnnFilterDescriptor_t weightsLayout, const void* weights, cudnnTensorDescriptor_t hxLayout,
    const void* hx, cudnnTensorDescriptor_t cxLayout, const void* cx, cudnnRNNDataDescriptor_t dxData,
    void* dx, cudnnTensorDescriptor_t dhxLayout, void* dhx, cudnnTensorDescriptor_t dcxLayout, void* dcx,
    cudnnRNNDataDescriptor_t, void*, void*, size_t, void* reserve, size_t reserveSize) {
  if (!AllGiven(yData, dyData) || yData->lengths != dyData->lengths || yData->layout != dyData->layout)
    return CUDNN_STATUS_BAD_PARAM;
  return BackwardData(
      handle, network, yData, y, dy, dxData, dx,
      {dhyLayout, dhy, dcyLayout, dcy, hxLayout, hx, cxLayout, cx, dhxLayout, dhx, dcxLayout, dcx},
      weightsLayout, weights, reserveSize, reserve);
}
cudnnStatus_t cudnnRNNBackwardWeightsEx(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                        cudnnRNNDataDescriptor_t xData, const void* x,
                                        cudnnTensorDescriptor_t hxLayout, const void* hx,
                                        cudnnRNNDataDescriptor_t yData, const void* y, void*, size_t,
                                        cudnnFilterDescriptor_t weightsLayout, void* dweights, void* reserve,
                                        size_t reserveSize) {
  return BackwardWeights(handle, network, xData, x, hxLayout, hx, yData, y, weightsLayout, dweights,
                         reserveSize, reserve);
}

}  // namespace ptx2cpu::cudnn
