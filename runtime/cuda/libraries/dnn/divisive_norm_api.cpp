// Divisive normalisation: y = x / (k + alpha / places * the sum of (x' - mean)^2 over the window around x) ^
// beta, with the mean that is given for x (K. Jarrett et al., What is the Best Multi-Stage Architecture for
// Object Recognition?, 2009).
#include <algorithm>
#include <cmath>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/descriptors.h"
#include "runtime/cuda/libraries/dnn/shapes.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

// A channel of an image.
template <typename R>
class Channel {
 public:
  Channel(const cudnnLRNStruct& norm, const Space& extents, const Space& width, const R* x, const R* means)
      : extents_(extents),
        width_(width),
        share_(static_cast<R>(norm.alpha / static_cast<double>(Volume(width)))),
        beta_(static_cast<R>(norm.beta)),
        k_(static_cast<R>(norm.k)),
        x_(x),
        means_(means) {}

  void Forward(R* y) const {
    for (int64_t i = 0; i < Volume(extents_); ++i) y[i] = x_[i] * std::pow(Scale(i), -beta_);
  }
  // A number is in its own quotient, and in the sums of its neighbours: those that its own window has, also
  // where a window of even width is not around its middle, as recorded. `dmeans` may be null.
  void Backward(const R* dy, R* dx, R* dmeans) const {
    const int64_t count = Volume(extents_);
    const auto shares = Storage<R>(count);
    for (int64_t i = 0; i < count; ++i) {
      const R scale = Scale(i);
      shares[i] = dy[i] * x_[i] * std::pow(scale, -beta_ - 1) * 2 * beta_ * share_;
      dx[i] = dy[i] * std::pow(scale, -beta_);
      R sum = 0;
      ForWindow(i, [&](int64_t at) { sum += x_[at] - Mean(i); });
      if (dmeans != nullptr) dmeans[i] = shares[i] * sum;
    }
    for (int64_t i = 0; i < count; ++i)
      ForWindow(i, [&](int64_t at) { dx[i] -= shares[at] * (x_[i] - Mean(at)); });
  }

 private:
  R Mean(int64_t i) const { return means_ == nullptr ? R{} : means_[i]; }
  R Scale(int64_t i) const {
    R sum = 0;
    ForWindow(i, [&](int64_t at) { sum += (x_[at] - Mean(i)) * (x_[at] - Mean(i)); });
    return k_ + share_ * sum;
  }
  template <typename Each>
  void ForWindow(int64_t i, const Each& each) const {
    const Space place = PlaceOf(i, extents_);
    Space first, last;
    for (size_t axis = 0; axis < kMaxSpace; ++axis) {
      const int64_t behind = (width_[axis] - 1) / 2;
      first[axis] = std::max<int64_t>(0, place[axis] - behind);
      last[axis] = std::min(extents_[axis], place[axis] - behind + width_[axis]);
    }
    for (int64_t a = first[0]; a < last[0]; ++a) {
      for (int64_t b = first[1]; b < last[1]; ++b) {
        for (int64_t c = first[2]; c < last[2]; ++c) each((a * extents_[1] + b) * extents_[2] + c);
      }
    }
  }

  const Space extents_, width_;
  const R share_, beta_, k_;
  const R *const x_, *const means_;
};

// Two or three axes of space.
bool IsRight(cudnnDivNormMode_t mode, const Layout& x, const Layout& other) {
  return mode == CUDNN_DIVNORM_PRECOMPUTED_MEANS && (x.extents.size() == 4 || x.extents.size() == 5) &&
         x.extents == other.extents && x.type == other.type;
}

// Calls run(channel, its place) for all channels of all images, on several threads.
template <typename R, typename Run>
void ForChannels(const cudnnLRNStruct& norm, const Layout& xl, const R* x, const R* means, const Run& run) {
  Space extents{1, 1, 1}, width{1, 1, 1};
  const size_t axes = xl.extents.size() - 2;
  for (size_t axis = 0; axis < axes; ++axis) {
    extents[kMaxSpace - axes + axis] = xl.extents[axis + 2];
    width[kMaxSpace - axes + axis] = norm.width;
  }
  const int64_t each = Volume(extents);
  libraries::ForRanges(xl.extents[0] * xl.extents[1], 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      run(Channel<R>(norm, extents, width, x + i * each, means == nullptr ? nullptr : means + i * each),
          i * each);
  });
}
template <typename R>
std::unique_ptr<Packed<R>> PackedIf(const Layout& layout, const void* data) {
  return data == nullptr ? nullptr : std::make_unique<Packed<R>>(layout, data);
}

}  // namespace

cudnnStatus_t cudnnDivisiveNormalizationForward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm,
                                                cudnnDivNormMode_t mode, const void* alpha,
                                                cudnnTensorDescriptor_t xLayout, const void* x,
                                                const void* means, void* temp, void* temp2, const void* beta,
                                                cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(handle, norm, alpha, xLayout, x, temp, temp2, beta, yLayout, y) ||
      !IsRight(mode, xLayout->layout, yLayout->layout))
    return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, "cudnnDivisiveNormalizationForward", alpha, beta, yLayout->layout, y,
                [=, n = *norm, xl = xLayout->layout]<typename R>(R* result) {
                  const Packed<R> input(xl, x);
                  const auto of_means = PackedIf<R>(xl, means);
                  ForChannels<R>(
                      n, xl, input.get(), of_means == nullptr ? nullptr : of_means->get(),
                      [&](const Channel<R>& channel, int64_t at) { channel.Forward(result + at); });
                });
}

cudnnStatus_t cudnnDivisiveNormalizationBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t norm,
                                                 cudnnDivNormMode_t mode, const void* alpha,
                                                 cudnnTensorDescriptor_t xLayout, const void* x,
                                                 const void* means, const void* dy, void* temp, void* temp2,
                                                 const void* beta, cudnnTensorDescriptor_t dxLayout, void* dx,
                                                 void* dmeans) {
  if (!AllGiven(handle, norm, alpha, xLayout, x, dy, temp, temp2, beta, dxLayout, dx) ||
      !IsRight(mode, xLayout->layout, dxLayout->layout))
    return CUDNN_STATUS_BAD_PARAM;
  const Layout& dl = dxLayout->layout;
  const double a = Factor(alpha, dl.type), b = Factor(beta, dl.type);
  return Submit(handle, "cudnnDivisiveNormalizationBackward", alpha, beta, dl, dx,
                [=, n = *norm, xl = xLayout->layout]<typename R>(R* result) {
                  const Packed<R> input(xl, x), gradient(xl, dy);
                  const auto of_means = PackedIf<R>(xl, means);
                  const auto of_dmeans = dmeans == nullptr ? nullptr : Storage<R>(xl.Count());
                  ForChannels<R>(n, xl, input.get(), of_means == nullptr ? nullptr : of_means->get(),
                                 [&](const Channel<R>& channel, int64_t at) {
                                   channel.Backward(gradient.get() + at, result + at,
                                                    dmeans == nullptr ? nullptr : of_dmeans.get() + at);
                                 });
                  if (dmeans != nullptr)
                    Blend<R>(dl, dmeans, of_dmeans.get(), static_cast<R>(a), static_cast<R>(b));
                });
}

}  // namespace ptx2cpu::cudnn
