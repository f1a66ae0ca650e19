// Recurrent networks. No workspace is needed; the reserve of a training has everything that its gradients
// read.
#include <algorithm>

#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/recurrent/pass.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

bool Drops(const cudnnRNNStruct& network) {
  return network.dropout != nullptr && network.dropout->rate > 0 && network.layers > 1;
}

// A copy of what the descriptors state when the function is called.
struct Call {
  Call(const cudnnRNNStruct& descriptor, const cudnnRNNDataStruct& data, bool trains)
      : network(descriptor),
        weights(network),
        sequences(data),
        reserve(network, sequences.rows, trains && Drops(descriptor)),
        type(descriptor.type) {
    if (Drops(descriptor)) dropout = *descriptor.dropout;
  }
  Network network;
  Weights weights;
  Sequences sequences;
  Reserve reserve;
  cudnnDropoutStruct dropout = {};
  cudnnDataType_t type;

  size_t WeightBytes() const { return static_cast<size_t>(weights.count * BytesOf(type)); }
  size_t ReserveBytes() const {
    return static_cast<size_t>(reserve.count) * (type == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float));
  }
  int64_t States(int64_t size) const { return network.pseudo_layers() * sequences.batch() * size; }
};

bool IsData(const cudnnRNNDataStruct* data, const Call& call, int64_t vector) {
  return data != nullptr && data->type == call.type && data->vector == vector &&
         data->batch == call.sequences.batch();
}
// Extents of states; a layout that is not given must not be needed.
bool IsStates(const cudnnTensorDescriptor_t layout, const Call& call, int64_t size, bool needed) {
  if (layout == nullptr) return !needed;
  const std::vector<int64_t> extents = {call.network.pseudo_layers(), call.sequences.batch(), size};
  return layout->layout.type == call.type && layout->layout.extents == extents && layout->layout.IsPacked();
}

template <typename R>
std::unique_ptr<R[]> ReadRows(const cudnnRNNDataStruct& data, const Sequences& sequences, const void* from) {
  auto rows = Storage<R>(sequences.rows * data.vector);
  const Layout row{data.type, {data.vector}, {1}};
  R* to = rows.get();
  for (int64_t step = 0; step < sequences.steps(); ++step) {
    for (int64_t i = 0; i < sequences.active[static_cast<size_t>(step)]; ++i, to += data.vector) {
      const int64_t at = PlaceOf(data, sequences, step, i) * BytesOf(data.type);
      Load(row, static_cast<const std::byte*>(from) + at, to);
    }
  }
  return rows;
}
// What no sequence has a step for becomes the descriptor's element.
template <typename R>
void WriteRows(const cudnnRNNDataStruct& data, const Sequences& sequences, const R* rows, void* to) {
  const Layout row{data.type, {data.vector}, {1}};
  const std::vector<R> filled(static_cast<size_t>(data.vector), static_cast<R>(data.fill));
  const bool packed = data.layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  for (int64_t step = 0; step < (packed ? sequences.steps() : data.steps); ++step) {
    const int64_t active = step < sequences.steps() ? sequences.active[static_cast<size_t>(step)] : 0;
    for (int64_t i = 0; i < (packed ? active : data.batch); ++i) {
      const bool has = i < active;
      const int64_t at = PlaceOf(data, sequences, step, i) * BytesOf(data.type);
      const R* const from =
          has ? rows + (sequences.first[static_cast<size_t>(step)] + i) * data.vector : filled.data();
      Blend<R>(row, static_cast<std::byte*>(to) + at, from, 1, 0);
    }
  }
}

// States in device memory, read; or made, and written when they are complete.
template <typename R>
class StatesIn {
 public:
  StatesIn(const Call& call, int64_t size, const void* from) {
    const int64_t count = call.States(size);
    if (from == nullptr) return;
    values_ = Storage<R>(count);
    Load(Layout{call.type, {count}, {1}}, from, values_.get());
  }
  R* get() const { return values_.get(); }

 private:
  std::unique_ptr<R[]> values_;
};
template <typename R>
class StatesOut {
 public:
  StatesOut(const Call& call, int64_t size, void* to)
      : layout_{call.type, {call.States(size)}, {1}}, to_(to) {
    if (to != nullptr) values_ = Storage<R>(call.States(size));
  }
  R* get() const { return values_.get(); }
  void Write() const {
    if (to_ != nullptr) Blend<R>(layout_, to_, values_.get(), 1, 0);
  }

 private:
  const Layout layout_;
  void* const to_;
  std::unique_ptr<R[]> values_;
};

}  // namespace

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                        cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t xData,
                                        size_t* workspaceSize, size_t* reserveSize) {
  if (!AllGiven(handle, network, xData)) return CUDNN_STATUS_BAD_PARAM;
  if (mode != CUDNN_FWD_MODE_INFERENCE && mode != CUDNN_FWD_MODE_TRAINING) return CUDNN_STATUS_BAD_PARAM;
  Give(workspaceSize, 0);
  Give(reserveSize, mode == CUDNN_FWD_MODE_TRAINING ? Call(*network, *xData, true).ReserveBytes() : 0);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnForwardMode_t mode,
                              const int32_t*, cudnnRNNDataDescriptor_t xData, const void* x,
                              cudnnRNNDataDescriptor_t yData, void* y, cudnnTensorDescriptor_t hLayout,
                              const void* hx, void* hy, cudnnTensorDescriptor_t cLayout, const void* cx,
                              void* cy, size_t weightsSize, const void* weights, size_t, void*,
                              size_t reserveSize, void* reserve) {
  if (!AllGiven(handle, network, xData, x, yData, y, weights)) return CUDNN_STATUS_BAD_PARAM;
  const bool trains = mode == CUDNN_FWD_MODE_TRAINING;
  const Call call(*network, *xData, trains);
  const Network& n = call.network;
  const bool states = hx != nullptr || hy != nullptr,
             cells = n.has_cells() && (cx != nullptr || cy != nullptr);
  if (!IsData(xData, call, n.input) || !IsData(yData, call, n.passed()) || xData->lengths != yData->lengths ||
      !IsStates(hLayout, call, n.output, states) || (cells && !IsStates(cLayout, call, n.hidden, true)))
    return CUDNN_STATUS_BAD_PARAM;
  if (weightsSize < call.WeightBytes() ||
      (trains && (reserve == nullptr || reserveSize < call.ReserveBytes())))
    return CUDNN_STATUS_BAD_PARAM;
  if (!libraries::LoadBlas("cudnnRNNForward")) return CUDNN_STATUS_NOT_SUPPORTED;
  return OnStream(handle, "cudnnRNNForward", [=, in = *xData, out = *yData] {
    WithReal(call.type, [&]<typename R>(R) {
      const Packed<R> w(Layout{call.type, {call.weights.count}, {1}}, weights);
      std::unique_ptr<R[]> own = trains ? nullptr : Storage<R>(call.reserve.count);
      Pass<R> pass(call.network, call.weights, call.sequences, call.reserve, w.get(),
                   trains ? static_cast<R*>(reserve) : own.get());
      const StatesIn<R> h(call, call.network.output, hx), c(call, call.network.hidden, cells ? cx : nullptr);
      const StatesOut<R> h_out(call, call.network.output, hy),
          c_out(call, call.network.hidden, cells ? cy : nullptr);
      const auto rows = ReadRows<R>(in, call.sequences, x);
      pass.Forward(rows.get(), {h.get(), c.get()}, {h_out.get(), c_out.get()},
                   call.dropout.states != nullptr ? &call.dropout : nullptr);
      WriteRows<R>(out, call.sequences, pass.Output(), y);
      h_out.Write(), c_out.Write();
    });
  });
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t network, const int32_t*,
                                      cudnnRNNDataDescriptor_t yData, const void* y, const void* dy,
                                      cudnnRNNDataDescriptor_t xData, void* dx,
                                      cudnnTensorDescriptor_t hLayout, const void* hx, const void* dhy,
                                      void* dhx, cudnnTensorDescriptor_t cLayout, const void* cx,
                                      const void* dcy, void* dcx, size_t weightsSize, const void* weights,
                                      size_t, void*, size_t reserveSize, void* reserve) {
  if (!AllGiven(handle, network, yData, y, dy, xData, dx, weights, reserve)) return CUDNN_STATUS_BAD_PARAM;
  const Call call(*network, *xData, true);
  const Network& n = call.network;
  const bool states = hx != nullptr || dhy != nullptr || dhx != nullptr;
  const bool cells = n.has_cells() && (cx != nullptr || dcy != nullptr || dcx != nullptr);
  if (!IsData(xData, call, n.input) || !IsData(yData, call, n.passed()) || xData->lengths != yData->lengths ||
      !IsStates(hLayout, call, n.output, states) || (cells && !IsStates(cLayout, call, n.hidden, true)) ||
      weightsSize < call.WeightBytes() || reserveSize < call.ReserveBytes())
    return CUDNN_STATUS_BAD_PARAM;
  if (!libraries::LoadBlas("cudnnRNNBackwardData_v8")) return CUDNN_STATUS_NOT_SUPPORTED;
  return OnStream(handle, "cudnnRNNBackwardData_v8", [=, in = *xData, out = *yData] {
    WithReal(call.type, [&]<typename R>(R) {
      const int64_t output = call.network.output, hidden = call.network.hidden;
      const Packed<R> w(Layout{call.type, {call.weights.count}, {1}}, weights);
      Pass<R> pass(call.network, call.weights, call.sequences, call.reserve, w.get(),
                   static_cast<R*>(reserve));
      const StatesIn<R> h(call, output, hx), c(call, hidden, cells ? cx : nullptr), dh(call, output, dhy),
          dc(call, hidden, cells ? dcy : nullptr);
      const StatesOut<R> dh_out(call, output, dhx), dc_out(call, hidden, cells ? dcx : nullptr);
      const auto rows = Storage<R>(call.sequences.rows * in.vector);
      pass.BackwardData(ReadRows<R>(out, call.sequences, dy), {h.get(), c.get()}, {dh.get(), dc.get()},
                        rows.get(), {dh_out.get(), dc_out.get()});
      WriteRows<R>(in, call.sequences, rows.get(), dx);
      dh_out.Write(), dc_out.Write();
    });
  });
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t network,
                                         cudnnWgradMode_t mode, const int32_t*,
                                         cudnnRNNDataDescriptor_t xData, const void* x,
                                         cudnnTensorDescriptor_t hLayout, const void* hx,
                                         cudnnRNNDataDescriptor_t yData, const void* y, size_t weightsSize,
                                         void* dweights, size_t, void*, size_t reserveSize, void* reserve) {
  if (!AllGiven(handle, network, xData, x, yData, y, dweights, reserve)) return CUDNN_STATUS_BAD_PARAM;
  if (mode != CUDNN_WGRAD_MODE_ADD && mode != CUDNN_WGRAD_MODE_SET) return CUDNN_STATUS_BAD_PARAM;
  const Call call(*network, *xData, true);
  const Network& n = call.network;
  if (!IsData(xData, call, n.input) || !IsData(yData, call, n.passed()) ||
      !IsStates(hLayout, call, n.output, hx != nullptr) || weightsSize < call.WeightBytes() ||
      reserveSize < call.ReserveBytes())
    return CUDNN_STATUS_BAD_PARAM;
  if (!libraries::LoadBlas("cudnnRNNBackwardWeights_v8")) return CUDNN_STATUS_NOT_SUPPORTED;
  return OnStream(handle, "cudnnRNNBackwardWeights_v8", [=, in = *xData] {
    WithReal(call.type, [&]<typename R>(R) {
      const int64_t count = call.weights.count;
      const auto dw = Storage<R>(count);
      std::fill_n(dw.get(), count, R{0});
      Pass<R> pass(call.network, call.weights, call.sequences, call.reserve, nullptr,
                   static_cast<R*>(reserve));
      const StatesIn<R> h(call, call.network.output, hx);
      const auto rows = ReadRows<R>(in, call.sequences, x);
      pass.BackwardWeights(rows.get(), {h.get(), nullptr}, dw.get());
      Blend<R>(Layout{call.type, {count}, {1}}, dweights, dw.get(), 1, mode == CUDNN_WGRAD_MODE_ADD ? 1 : 0);
    });
  });
}

}  // namespace ptx2cpu::cudnn
