// Tensors and filters with zeros around them, and with their space folded into channels; columns of an image,
// as a convolution reads them.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/shapes.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

using Extents = std::vector<int64_t>;

// How extents become others. What is before or after a negative number is cut off.
class Transform {
 public:
  Transform(const cudnnTensorTransformStruct& from, const Extents& x) : all_(from), x_(x) {}

  // Empty: they cannot.
  Extents Result() const {
    if (x_.size() != all_.before.size() || (!folds() && x_[1] % Parts() != 0)) return {};
    Extents result = x_;
    for (size_t axis = 0; axis < result.size(); ++axis) {
      const int64_t around = all_.before[axis] + all_.after[axis];
      const int64_t parts = axis == 1 ? Parts() : axis == 0 ? 1 : Fold(axis);
      // Space becomes channels, or the channels space.
      if (folds())
        result[axis] = axis == 1 ? (x_[1] + around) * parts : (x_[axis] + around + parts - 1) / parts;
      else
        result[axis] = (axis == 1 ? x_[1] / parts : x_[axis] * parts) + around;
      if (result[axis] <= 0) return {};
    }
    return result;
  }
  // The place of the source of a place of the result. A part of all channels is a range of channels, those
  // that are added come after all parts, as recorded. False: it has none, and is zero.
  bool Source(const Extents& result, const Extents& to, Extents& from) const {
    const int64_t channels = folds() ? x_[1] : std::min(x_[1] / Parts(), result[1]);
    from = to;
    from[0] -= all_.before[0];
    if (folds()) {
      from[1] -= all_.before[1] * Parts();
      if (from[1] < 0 || from[1] >= channels * Parts()) return false;
      int64_t part = from[1] / channels;
      from[1] %= channels;
      for (size_t axis = to.size(); axis-- > 2;) {
        from[axis] = to[axis] * Fold(axis) + part % Fold(axis) - all_.before[axis], part /= Fold(axis);
      }
    } else {
      int64_t part = 0;
      from[1] -= all_.before[1];
      if (from[1] < 0 || from[1] >= channels) return false;
      for (size_t axis = 2; axis < to.size(); ++axis) {
        const int64_t place = to[axis] - all_.before[axis];
        if (place < 0) return false;
        from[axis] = place / Fold(axis), part = part * Fold(axis) + place % Fold(axis);
      }
      from[1] += part * channels;
    }
    for (size_t axis = 0; axis < to.size(); ++axis) {
      if (from[axis] < 0 || from[axis] >= x_[axis]) return false;
    }
    return true;
  }

 private:
  bool folds() const { return all_.direction == CUDNN_TRANSFORM_FOLD; }
  int64_t Fold(size_t axis) const { return std::max<int64_t>(1, all_.folds[axis - 2]); }
  int64_t Parts() const {
    int64_t parts = 1;
    for (size_t axis = 2; axis < x_.size(); ++axis) parts *= Fold(axis);
    return parts;
  }
  const cudnnTensorTransformStruct all_;
  const Extents x_;
};

// Moves to the next place, the last axis first.
void Advance(const Extents& extents, Extents& place) {
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (++place[axis] < extents[axis]) return;
    place[axis] = 0;
  }
}

template <typename R>
void Fill(const Transform& transform, const Layout& xl, const R* x, const Extents& extents, R* result) {
  const Extents strides = PackedStrides(xl.extents);
  const int64_t count = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  Extents to(extents.size()), from;
  for (int64_t i = 0; i < count; ++i, Advance(extents, to)) {
    const bool has_source = transform.Source(extents, to, from);
    result[i] =
        has_source ? x[std::inner_product(from.begin(), from.end(), strides.begin(), int64_t{0})] : R{};
  }
}

cudnnStatus_t Run(const char* name, cudnnHandle_t handle, cudnnTensorTransformDescriptor_t transform,
                  const void* alpha, const Layout& xl, const void* x, const void* beta, const Layout& yl,
                  void* y) {
  if (!AllGiven(handle, transform, alpha, x, beta, y)) return CUDNN_STATUS_BAD_PARAM;
  const Transform by(*transform, xl.extents);
  const Extents extents = by.Result();
  if (extents.empty() || extents != yl.extents || xl.type != yl.type) return CUDNN_STATUS_BAD_PARAM;
  return Submit(handle, name, alpha, beta, yl, y, [=]<typename R>(R* result) {
    const Packed<R> input(xl, x);
    Fill<R>(by, xl, input.get(), extents, result);
  });
}

template <typename T>
Extents ListOr(const T* numbers, size_t count, Extents otherwise, int64_t missing) {
  if (numbers != nullptr) return Extents(numbers, numbers + count);
  otherwise.resize(count, missing);
  return otherwise;
}
template <typename T>
void GiveAll(T* to, const Extents& numbers, size_t count) {
  if (to != nullptr) std::copy_n(numbers.begin(), std::min(count, numbers.size()), to);
}

}  // namespace

cudnnStatus_t cudnnSetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transform, uint32_t count,
                                                cudnnTensorFormat_t format, const int32_t before[],
                                                const int32_t after[], const uint32_t folds[],
                                                cudnnFoldingDirection_t direction) {
  if (transform != nullptr && count > kMaxExtents) return CUDNN_STATUS_NOT_SUPPORTED;
  if (transform == nullptr || count < 3 ||
      (direction != CUDNN_TRANSFORM_FOLD && direction != CUDNN_TRANSFORM_UNFOLD))
    return CUDNN_STATUS_BAD_PARAM;
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) return CUDNN_STATUS_NOT_SUPPORTED;
  // What is not given stays as it was, as recorded.
  *transform = {format, ListOr(before, count, transform->before, 0),
                ListOr(after, count, transform->after, 0), ListOr(folds, count - 2, transform->folds, 1),
                direction};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transform, uint32_t wanted,
                                                cudnnTensorFormat_t* format, int32_t before[],
                                                int32_t after[], uint32_t folds[],
                                                cudnnFoldingDirection_t* direction) {
  if (transform == nullptr || wanted < 3 || wanted > kMaxExtents) return CUDNN_STATUS_BAD_PARAM;
  Give(format, transform->format), Give(direction, transform->direction);
  GiveAll(before, transform->before, wanted), GiveAll(after, transform->after, wanted);
  GiveAll(folds, transform->folds, wanted - 2);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnInitTransformDest(cudnnTensorTransformDescriptor_t transform,
                                     cudnnTensorDescriptor_t xLayout, cudnnTensorDescriptor_t yLayout,
                                     size_t* size) {
  if (!AllGiven(transform, xLayout, yLayout)) return CUDNN_STATUS_BAD_PARAM;
  const Extents extents = Transform(*transform, xLayout->layout.extents).Result();
  if (extents.empty()) return CUDNN_STATUS_BAD_PARAM;
  yLayout->layout = {xLayout->layout.type, extents, StridesOf(transform->format, extents)};
  Give(size, yLayout->layout.Count() * BytesOf(yLayout->layout.type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnTransformTensorEx(cudnnHandle_t handle, cudnnTensorTransformDescriptor_t transform,
                                     const void* alpha, cudnnTensorDescriptor_t xLayout, const void* x,
                                     const void* beta, cudnnTensorDescriptor_t yLayout, void* y) {
  if (!AllGiven(xLayout, yLayout)) return CUDNN_STATUS_BAD_PARAM;
  return Run("cudnnTransformTensorEx", handle, transform, alpha, xLayout->layout, x, beta, yLayout->layout,
             y);
}
cudnnStatus_t cudnnTransformFilter(cudnnHandle_t handle, cudnnTensorTransformDescriptor_t transform,
                                   const void* alpha, cudnnFilterDescriptor_t xLayout, const void* x,
                                   const void* beta, cudnnFilterDescriptor_t yLayout, void* y) {
  if (!AllGiven(xLayout, yLayout)) return CUDNN_STATUS_BAD_PARAM;
  return Run("cudnnTransformFilter", handle, transform, alpha, xLayout->layout, x, beta, yLayout->layout, y);
}

// A row for each channel and place of the window, a column for each image and place of the output.
cudnnStatus_t cudnnIm2Col(cudnnHandle_t handle, cudnnTensorDescriptor_t xLayout, const void* x,
                          cudnnFilterDescriptor_t filter, cudnnConvolutionDescriptor_t convolution,
                          void* columns) {
  if (!AllGiven(handle, xLayout, x, filter, convolution, columns)) return CUDNN_STATUS_BAD_PARAM;
  const Layout& xl = xLayout->layout;
  const Extents out = OutputOf(*convolution, xl, *filter);
  if (out.empty()) return CUDNN_STATUS_BAD_PARAM;
  const auto shape = ShapeOf(*convolution, xl, *filter, {xl.type, out, PackedStrides(out)});
  const Windows w = shape->windows;
  const bool flips = shape->flips;
  const int64_t images = xl.extents[0], channels = xl.extents[1], places = Volume(w.out);
  const int64_t count = channels * Volume(w.window) * images * places;
  const float one = 1, none = 0;
  const double wide_one = 1, wide_none = 0;
  const bool wide = xl.type == CUDNN_DATA_DOUBLE;
  return Submit(handle, "cudnnIm2Col", wide ? static_cast<const void*>(&wide_one) : &one,
                wide ? static_cast<const void*>(&wide_none) : &none, {xl.type, {count}, {1}}, columns,
                [=]<typename R>(R* result) {
                  const Packed<R> input(xl, x);
                  std::fill_n(result, count, R{});
                  const int64_t row = images * places;
                  for (int64_t image = 0; image < images; ++image) {
                    for (int64_t c = 0; c < channels; ++c) {
                      const R* const channel = input.get() + (image * channels + c) * Volume(w.in);
                      for (int64_t place = 0; place < places; ++place) {
                        ForWindow(w, PlaceOf(place, w.out), [&](int64_t number, int64_t at) {
                          const int64_t in_filter = flips ? Volume(w.window) - 1 - number : number;
                          result[(c * Volume(w.window) + in_filter) * row + image * places + place] =
                              channel[at];
                        });
                      }
                    }
                  }
                });
}

// The order that integers of an older device need is not needed: CUDNN_STATUS_NOT_SUPPORTED, as recorded.
cudnnStatus_t cudnnReorderFilterAndBias(cudnnHandle_t handle, cudnnFilterDescriptor_t filter,
                                        cudnnReorderType_t type, const void* from, void* to, int reorderBias,
                                        const void* bias, void* newBias) {
  if (!AllGiven(handle, filter, from, to)) return CUDNN_STATUS_BAD_PARAM;
  if (reorderBias != 0 && !AllGiven(bias, newBias)) return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_DEFAULT_REORDER) return CUDNN_STATUS_NOT_SUPPORTED;
  const auto bytes = static_cast<size_t>(filter->layout.Count() * BytesOf(filter->layout.type));
  const size_t bias_bytes =
      reorderBias == 0 ? 0 : static_cast<size_t>(filter->layout.extents[0]) * sizeof(float);
  return OnStream(handle, "cudnnReorderFilterAndBias", [=] {
    std::memmove(to, from, bytes);
    if (bias_bytes > 0) std::memmove(newBias, bias, bias_bytes);
  });
}

}  // namespace ptx2cpu::cudnn
