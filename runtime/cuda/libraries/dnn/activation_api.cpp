// Activation functions and soft-max.
#include <algorithm>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/activation.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

constexpr int64_t kGrain = 4096;

// Numbers of which the soft-max is one distribution: `count` of them, `step` apart.
struct Distributions {
  Distributions(const Layout& layout, cudnnSoftmaxMode_t mode)
      : images(layout.extents[0]),
        count(mode == CUDNN_SOFTMAX_MODE_CHANNEL ? layout.extents[1] : layout.Count() / images),
        step(layout.Count() / images / count) {}

  // Calls each(place of its first number).
  template <typename Each>
  void ForAll(const Each& each) const {
    libraries::ForRanges(images * step, std::max<int64_t>(kGrain / count, 1),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t n = begin; n < end; ++n) each(n / step * step * count + n % step);
                         });
  }
  int64_t images, count, step;
};

template <typename R>
void Softmax(const Distributions& d, cudnnSoftmaxAlgorithm_t algorithm, const R* x, R* y) {
  d.ForAll([&](int64_t first) {
    R greatest = algorithm == CUDNN_SOFTMAX_FAST ? 0 : x[first], sum = 0;
    for (int64_t i = 0; i < d.count && algorithm != CUDNN_SOFTMAX_FAST; ++i)
      greatest = std::max(greatest, x[first + i * d.step]);
    for (int64_t i = 0; i < d.count; ++i)
      sum += y[first + i * d.step] = std::exp(x[first + i * d.step] - greatest);
    const R logarithm = std::log(sum);
    for (int64_t i = 0; i < d.count; ++i) {
      R& to = y[first + i * d.step];
      to = algorithm == CUDNN_SOFTMAX_LOG ? x[first + i * d.step] - greatest - logarithm : to / sum;
    }
  });
}

template <typename R>
void SoftmaxGradient(const Distributions& d, cudnnSoftmaxAlgorithm_t algorithm, const R* y, const R* dy,
                     R* dx) {
  d.ForAll([&](int64_t first) {
    const bool is_log = algorithm == CUDNN_SOFTMAX_LOG;
    R sum = 0;
    for (int64_t i = 0; i < d.count; ++i) {
      const int64_t at = first + i * d.step;
      sum += is_log ? dy[at] : dy[at] * y[at];
    }
    for (int64_t i = 0; i < d.count; ++i) {
      const int64_t at = first + i * d.step;
      dx[at] = is_log ? dy[at] - std::exp(y[at]) * sum : y[at] * (dy[at] - sum);
    }
  });
}

bool AreRight(cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, const Layout& layout) {
  return algo >= CUDNN_SOFTMAX_FAST && algo <= CUDNN_SOFTMAX_LOG && mode >= CUDNN_SOFTMAX_MODE_INSTANCE &&
         mode <= CUDNN_SOFTMAX_MODE_CHANNEL && layout.extents.size() >= 2;
}

}  // namespace

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                     const void* alpha, cudnnTensorDescriptor_t xLayout, const void* x,
                                     const void* beta, cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, activation, alpha, xLayout, x, beta, yLayout, y)) return CUDNN_STATUS_BAD_PARAM;
  // The identity is for convolutions alone.
  if (activation->mode == CUDNN_ACTIVATION_IDENTITY || xLayout->layout.extents != yLayout->layout.extents)
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnActivationForward", alpha, beta, yLayout->layout, y,
                [=, xl = xLayout->layout, act = *activation]<typename R>(R* result) {
                  const Packed<R> input(xl, x);
                  const Activation<R> activate(act);
                  libraries::ForRanges(xl.Count(), kGrain, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) result[i] = activate.Forward(input.get()[i]);
                  });
                });
}

cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                      const void* alpha, cudnnTensorDescriptor_t yLayout, const void* y,
                                      cudnnTensorDescriptor_t dyLayout, const void* dy,
                                      cudnnTensorDescriptor_t xLayout, const void* x, const void* beta,
                                      cudnnTensorDescriptor_t dxLayout, void* dx) {
  if (!AllGiven(handle, activation, alpha, yLayout, y, dyLayout, dy, xLayout, x, beta, dxLayout, dx))
    return CUDNN_STATUS_BAD_PARAM;
  const std::vector<int64_t>& extents = dxLayout->layout.extents;
  if (activation->mode == CUDNN_ACTIVATION_IDENTITY || yLayout->layout.extents != extents ||
      dyLayout->layout.extents != extents || xLayout->layout.extents != extents)
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnActivationBackward", alpha, beta, dxLayout->layout, dx,
                [=, yl = yLayout->layout, dl = dyLayout->layout, xl = xLayout->layout,
                 act = *activation]<typename R>(R* result) {
                  const Packed<R> input(xl, x), output(yl, y), gradient(dl, dy);
                  const Activation<R> activate(act);
                  libraries::ForRanges(xl.Count(), kGrain, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      result[i] = activate.Backward(input.get()[i], output.get()[i], gradient.get()[i]);
                  });
                });
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
                                  const void* alpha, cudnnTensorDescriptor_t xLayout, const void* x,
                                  const void* beta, cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, alpha, xLayout, x, beta, yLayout, y)) return CUDNN_STATUS_BAD_PARAM;
  if (!AreRight(algo, mode, xLayout->layout) || xLayout->layout.extents != yLayout->layout.extents)
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnSoftmaxForward", alpha, beta, yLayout->layout, y,
                [=, xl = xLayout->layout]<typename R>(R* result) {
                  Softmax(Distributions(xl, mode), algo, Packed<R>(xl, x).get(), result);
                });
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo,
                                   cudnnSoftmaxMode_t mode, const void* alpha,
                                   cudnnTensorDescriptor_t yLayout, const void* y,
                                   cudnnTensorDescriptor_t dyLayout, const void* dy, const void* beta,
                                   cudnnTensorDescriptor_t dxLayout, void* dx) {
  if (!AllGiven(handle, alpha, yLayout, y, dyLayout, dy, beta, dxLayout, dx)) return CUDNN_STATUS_BAD_PARAM;
  const std::vector<int64_t>& extents = dxLayout->layout.extents;
  if (!AreRight(algo, mode, dxLayout->layout) || yLayout->layout.extents != extents ||
      dyLayout->layout.extents != extents)
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnSoftmaxBackward", alpha, beta, dxLayout->layout, dx,
                [=, yl = yLayout->layout, dl = dyLayout->layout]<typename R>(R* result) {
                  const Packed<R> output(yl, y), gradient(dl, dy);
                  SoftmaxGradient(Distributions(yl, mode), algo, output.get(), gradient.get(), result);
                });
}

}  // namespace ptx2cpu::cudnn
