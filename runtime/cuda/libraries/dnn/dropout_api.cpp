#include <cstring>

#include "runtime/cuda/libraries/dnn/dropout.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

constexpr float kOne = 1;
constexpr double kOneDouble = 1;
const void* One(const Layout& layout) {
  return layout.type == CUDNN_DATA_DOUBLE ? static_cast<const void*>(&kOneDouble) : &kOne;
}

// x where the element remains, larger by what is lost; `remain` holds a byte for each element.
template <typename R>
void Keep(const Layout& layout, const void* x, float rate, const unsigned char* remain, R* result) {
  const Packed<R> input(layout, x);
  const R scale = rate < 1 ? 1 / (1 - static_cast<R>(rate)) : 0;
  for (int64_t i = 0; i < layout.Count(); ++i) result[i] = remain[i] != 0 ? input.get()[i] * scale : R{};
}

}  // namespace

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* size) {
  if (!AllGiven(handle, size)) return CUDNN_STATUS_BAD_PARAM;
  *size = sizeof(DropoutStates);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t layout, size_t* size) {
  if (!AllGiven(layout, size)) return CUDNN_STATUS_BAD_PARAM;
  *size = static_cast<size_t>(layout->layout.Count());
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle, float rate,
                                        void* states, size_t size, unsigned long long seed) {
  if (!AllGiven(dropout, handle)) return CUDNN_STATUS_BAD_PARAM;
  if (states != nullptr && size < sizeof(DropoutStates)) return CUDNN_STATUS_BAD_PARAM;
  *dropout = {rate, states, seed};
  if (states == nullptr) return CUDNN_STATUS_SUCCESS;
  return OnStream(handle, "cudnnSetDropoutDescriptor", [=] {
    const DropoutStates begin{seed, 0};
    std::memcpy(states, &begin, sizeof begin);
  });
}
cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle,
                                            float rate, void* states, size_t size, unsigned long long seed) {
  if (!AllGiven(dropout, handle)) return CUDNN_STATUS_BAD_PARAM;
  if (states != nullptr && size < sizeof(DropoutStates)) return CUDNN_STATUS_BAD_PARAM;
  *dropout = {rate, states, seed};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle, float* rate,
                                        void** states, unsigned long long* seed) {
  if (!AllGiven(dropout, handle, rate, states, seed)) return CUDNN_STATUS_BAD_PARAM;
  *rate = dropout->rate, *states = dropout->states, *seed = dropout->seed;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, cudnnDropoutDescriptor_t dropout,
                                  cudnnTensorDescriptor_t xLayout, const void* x,
                                  cudnnTensorDescriptor_t yLayout, void* y, void* reserve, size_t size) {
  if (!AllGiven(handle, dropout, xLayout, x, yLayout, y, reserve)) return CUDNN_STATUS_BAD_PARAM;
  const Layout& layout = xLayout->layout;
  if (layout.extents != yLayout->layout.extents || size < static_cast<size_t>(layout.Count()) ||
      dropout->states == nullptr)
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnDropoutForward", One(yLayout->layout), nullptr, yLayout->layout, y,
                [=, what = *dropout]<typename R>(R* result) {
                  const DropoutStates states = NextCall(what.states);
                  auto* const remain = static_cast<unsigned char*>(reserve);
                  for (int64_t i = 0; i < layout.Count(); ++i) remain[i] = Uniform(states, i) >= what.rate;
                  Keep(layout, x, what.rate, remain, result);
                });
}
cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, cudnnDropoutDescriptor_t dropout,
                                   cudnnTensorDescriptor_t dyLayout, const void* dy,
                                   cudnnTensorDescriptor_t dxLayout, void* dx, void* reserve, size_t size) {
  if (!AllGiven(handle, dropout, dyLayout, dy, dxLayout, dx, reserve)) return CUDNN_STATUS_BAD_PARAM;
  const Layout& layout = dyLayout->layout;
  if (layout.extents != dxLayout->layout.extents || size < static_cast<size_t>(layout.Count()))
    return CUDNN_STATUS_BAD_PARAM;
  if (dropout->states == nullptr) return CUDNN_STATUS_EXECUTION_FAILED;  // as recorded
  return Submit(handle, "cudnnDropoutBackward", One(dxLayout->layout), nullptr, dxLayout->layout, dx,
                [=, rate = dropout->rate]<typename R>(R* result) {
                  Keep(layout, dy, rate, static_cast<const unsigned char*>(reserve), result);
                });
}

}  // namespace ptx2cpu::cudnn
