// Local response normalisation: y = x / (k + alpha / n * the sum of squares of n channels) ^ beta.
#include <cmath>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// The documented bounds.
constexpr unsigned kMaxWidth = 16;
constexpr double kMinK = 1e-5, kMinBeta = 0.01;

// One sample: channels, each of `space` adjacent numbers.
template <typename R>
class Sample {
 public:
  Sample(const cudnnLRNStruct& norm, int64_t channels, int64_t space, const R* x)
      : behind_((static_cast<int64_t>(norm.width) - 1) / 2),
        ahead_(static_cast<int64_t>(norm.width) - behind_ - 1),
        channels_(channels),
        space_(space),
        share_(static_cast<R>(norm.alpha / norm.width)),
        beta_(static_cast<R>(norm.beta)),
        k_(static_cast<R>(norm.k)),
        x_(x) {}

  void Forward(R* y) const {
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t i = 0; i < space_; ++i)
        y[c * space_ + i] = x_[c * space_ + i] * std::pow(Scale(c, i), -beta_);
    }
  }
  // A number is in its own quotient, and in the sums of the channels whose windows have it.
  void Backward(const R* dy, R* dx) const {
    for (int64_t i = 0; i < space_; ++i) {
      for (int64_t c = 0; c < channels_; ++c) {
        const int64_t own = c * space_ + i;
        R others = 0;
        for (int64_t d = std::max<int64_t>(0, c - ahead_); d <= std::min(channels_ - 1, c + behind_); ++d)
          others += dy[d * space_ + i] * x_[d * space_ + i] * std::pow(Scale(d, i), -beta_ - 1);
        dx[own] = dy[own] * std::pow(Scale(c, i), -beta_) - 2 * share_ * beta_ * x_[own] * others;
      }
    }
  }

 private:
  R Scale(int64_t c, int64_t i) const {
    R sum = 0;
    for (int64_t d = std::max<int64_t>(0, c - behind_); d <= std::min(channels_ - 1, c + ahead_); ++d)
      sum += x_[d * space_ + i] * x_[d * space_ + i];
    return k_ + share_ * sum;
  }

  const int64_t behind_, ahead_, channels_, space_;
  const R share_, beta_, k_;
  const R* const x_;
};

cudnnStatus_t WrongTensors(cudnnLRNMode_t mode, const Layout& x,
                           std::initializer_list<const Layout*> others) {
  if (mode != CUDNN_LRN_CROSS_CHANNEL_DIM1 || x.extents.size() < 3) return CUDNN_STATUS_BAD_PARAM;
  for (const Layout* other : others) {
    if (other->extents != x.extents || other->type != x.type) return CUDNN_STATUS_NOT_SUPPORTED;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t norm, unsigned width, double alpha, double beta,
                                    double k) {
  if (norm == nullptr || width < 1 || width > kMaxWidth || !(beta >= kMinBeta) || !(k >= kMinK))
    return CUDNN_STATUS_BAD_PARAM;
  *norm = {width, alpha, beta, k};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetLRNDescriptor(cudnnLRNDescriptor_t norm, unsigned* width, double* alpha, double* beta,
                                    double* k) {
  if (norm == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(width, norm->width), Give(alpha, norm->alpha), Give(beta, norm->beta), Give(k, norm->k);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm,
                                          cudnnLRNMode_t mode, const void* alpha,
                                          cudnnTensorDescriptor_t xLayout, const void* x, const void* beta,
                                          cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, norm, alpha, xLayout, x, beta, yLayout, y)) return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong = WrongTensors(mode, xLayout->layout, {&yLayout->layout})) return wrong;
  return Submit(
      handle, "cudnnLRNCrossChannelForward", alpha, beta, yLayout->layout, y,
      [=, n = *norm, xl = xLayout->layout]<typename R>(R* result) {
        const Packed<R> input(xl, x);
        const int64_t each = xl.Count() / xl.extents[0], channels = xl.extents[1];
        libraries::ForRanges(xl.extents[0], 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            Sample<R>(n, channels, each / channels, input.get() + i * each).Forward(result + i * each);
        });
      });
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm,
                                           cudnnLRNMode_t mode, const void* alpha,
                                           cudnnTensorDescriptor_t yLayout, const void* y,
                                           cudnnTensorDescriptor_t dyLayout, const void* dy,
                                           cudnnTensorDescriptor_t xLayout, const void* x, const void* beta,
                                           cudnnTensorDescriptor_t dxLayout, void* dx) {
  if (!AllGiven(handle, norm, alpha, yLayout, y, dyLayout, dy, xLayout, x, beta, dxLayout, dx))
    return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t wrong =
          WrongTensors(mode, xLayout->layout, {&yLayout->layout, &dyLayout->layout, &dxLayout->layout}))
    return wrong;
  return Submit(handle, "cudnnLRNCrossChannelBackward", alpha, beta, dxLayout->layout, dx,
                [=, n = *norm, xl = xLayout->layout, dl = dyLayout->layout]<typename R>(R* result) {
                  const Packed<R> input(xl, x), gradient(dl, dy);
                  const int64_t each = xl.Count() / xl.extents[0], channels = xl.extents[1];
                  libraries::ForRanges(xl.extents[0], 1, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      Sample<R>(n, channels, each / channels, input.get() + i * each)
                          .Backward(gradient.get() + i * each, result + i * each);
                  });
                });
}

}  // namespace ptx2cpu::cudnn
