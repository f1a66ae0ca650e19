// Pooling: the greatest or the average of each window.
#include <limits>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/shapes.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

bool TakesGreatest(cudnnPoolingMode_t mode) {
  return mode == CUDNN_POOLING_MAX || mode == CUDNN_POOLING_MAX_DETERMINISTIC;
}

// The place of the greatest number, the first one of several; negative: the window is outside. NaN is the
// greatest number where NaN is propagated, and the least elsewhere.
template <typename R>
int64_t PlaceOfGreatest(const Windows& windows, const Space& out, const R* channel, bool wants_nan) {
  int64_t place = -1;
  ForWindow(windows, out, [&](int64_t, int64_t at) {
    const bool is_first = place < 0, is_nan = channel[at] != channel[at];
    const bool had_nan = !is_first && channel[place] != channel[place];
    const bool wins = wants_nan ? !had_nan && (is_nan || !(channel[at] <= channel[is_first ? at : place]))
                                : !is_nan && (had_nan || channel[at] > channel[is_first ? at : place]);
    if (is_first || wins) place = at;
  });
  return place;
}

int64_t CountOf(const Windows& windows, const Space& out, cudnnPoolingMode_t mode) {
  if (mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) return Volume(windows.window);
  int64_t count = 0;
  ForWindow(windows, out, [&](int64_t, int64_t) { ++count; });
  return count;
}

template <typename R>
R Pooled(const cudnnPoolingStruct& pooling, const Windows& windows, const Space& out, const R* channel) {
  if (TakesGreatest(pooling.mode)) {
    const int64_t place = PlaceOfGreatest(windows, out, channel, pooling.nan == CUDNN_PROPAGATE_NAN);
    return place < 0 ? -std::numeric_limits<R>::infinity() : channel[place];
  }
  R sum = 0;
  ForWindow(windows, out, [&](int64_t, int64_t at) { sum += channel[at]; });
  const int64_t count = CountOf(windows, out, pooling.mode);
  return count == 0 ? 0 : sum / static_cast<R>(count);
}

// Gives a window's gradient to what it was made of.
template <typename R>
void Distribute(const cudnnPoolingStruct& pooling, const Windows& windows, const Space& out, const R* channel,
                R gradient, R* to) {
  if (TakesGreatest(pooling.mode)) {
    const int64_t place = PlaceOfGreatest(windows, out, channel, pooling.nan == CUDNN_PROPAGATE_NAN);
    if (place >= 0) to[place] += gradient;
    return;
  }
  const R share = gradient / static_cast<R>(CountOf(windows, out, pooling.mode));
  ForWindow(windows, out, [&](int64_t, int64_t at) { to[at] += share; });
}

}  // namespace

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  cudnnTensorDescriptor_t xLayout, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, pooling, alpha, xLayout, x, beta, yLayout, y)) return CUDNN_STATUS_BAD_PARAM;
  const auto windows = WindowsOf(*pooling, xLayout->layout, yLayout->layout);
  if (!windows) return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnPoolingForward", alpha, beta, yLayout->layout, y,
                [=, w = *windows, p = *pooling, xl = xLayout->layout]<typename R>(R* result) {
                  const Packed<R> input(xl, x);
                  const int64_t in = Volume(w.in), out = Volume(w.out);
                  libraries::ForRanges(xl.extents[0] * xl.extents[1], 1, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin * out; i < end * out; ++i)
                      result[i] = Pooled(p, w, PlaceOf(i % out, w.out), input.get() + i / out * in);
                  });
                });
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                   cudnnTensorDescriptor_t yLayout, const void* y,
                                   cudnnTensorDescriptor_t dyLayout, const void* dy,
                                   cudnnTensorDescriptor_t xLayout, const void* x, const void* beta,
                                   cudnnTensorDescriptor_t dxLayout, void* dx) {
  if (!AllGiven(handle, pooling, alpha, dyLayout, dy, beta, dxLayout, dx)) return CUDNN_STATUS_BAD_PARAM;
  const bool reads_input = TakesGreatest(pooling->mode);
  if (reads_input && (!AllGiven(xLayout, x) || xLayout->layout.extents != dxLayout->layout.extents))
    return CUDNN_STATUS_BAD_PARAM;
  const auto windows = WindowsOf(*pooling, dxLayout->layout, dyLayout->layout);
  if (!windows) return CUDNN_STATUS_BAD_PARAM;
  const Layout& input_layout = reads_input ? xLayout->layout : dyLayout->layout;
  const void* const input_data = reads_input ? x : dy;
  return Submit(handle, "cudnnPoolingBackward", alpha, beta, dxLayout->layout, dx,
                [=, w = *windows, p = *pooling, dl = dyLayout->layout]<typename R>(R* result) {
                  const Packed<R> gradient(dl, dy), input(input_layout, input_data);
                  const int64_t in = Volume(w.in), out = Volume(w.out);
                  libraries::ForRanges(dl.extents[0] * dl.extents[1], 1, [&](int64_t begin, int64_t end) {
                    std::fill(result + begin * in, result + end * in, R{});
                    for (int64_t i = begin * out; i < end * out; ++i) {
                      Distribute(p, w, PlaceOf(i % out, w.out), input.get() + i / out * in, gradient.get()[i],
                                 result + i / out * in);
                    }
                  });
                });
}

}  // namespace ptx2cpu::cudnn
