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

// How extents become others. Empty results: they cannot.
struct Transform {
  explicit Transform(const cudnnTensorTransformStruct& from) : all(from) {}
  int64_t Parts() const {
    return std::accumulate(all.folds.begin(), all.folds.end(), int64_t{1}, std::multiplies<>());
  }
  Extents Padded(const Extents& x) const {
    if (x.size() != all.before.size()) return {};
    Extents padded = x;
    for (size_t axis = 0; axis < x.size(); ++axis) padded[axis] += all.before[axis] + all.after[axis];
    return padded;
  }
  Extents ResultOf(const Extents& x) const {
    Extents result = Padded(x);
    const bool folds = all.direction == CUDNN_TRANSFORM_FOLD;
    if (result.empty() || (!folds && result[1] % Parts() != 0)) return {};
    result[1] = folds ? result[1] * Parts() : result[1] / Parts();
    for (size_t axis = 2; axis < result.size(); ++axis) {
      const int64_t fold = all.folds[axis - 2];
      if (folds && result[axis] % fold != 0) return {};
      result[axis] = folds ? result[axis] / fold : result[axis] * fold;
    }
    return result;
  }
  // The place in the padded tensor of a place of the result; the parts of a channel are adjacent channels.
  void Source(const Extents& to, Extents& from) const {
    from = to;
    const bool folds = all.direction == CUDNN_TRANSFORM_FOLD;
    int64_t part = folds ? to[1] % Parts() : 0;
    for (size_t axis = to.size(); folds && axis-- > 2;) {
      const int64_t fold = all.folds[axis - 2];
      from[axis] = to[axis] * fold + part % fold, part /= fold;
    }
    for (size_t axis = 2; !folds && axis < to.size(); ++axis) {
      const int64_t fold = all.folds[axis - 2];
      from[axis] = to[axis] / fold, part = part * fold + to[axis] % fold;
    }
    from[1] = folds ? to[1] / Parts() : to[1] * Parts() + part;
  }
  const cudnnTensorTransformStruct all;
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
    transform.Source(to, from);
    int64_t place = 0;
    bool inside = true;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      const int64_t at = from[axis] - transform.all.before[axis];
      inside = inside && at >= 0 && at < xl.extents[axis];
      place += at * strides[axis];
    }
    result[i] = inside ? x[place] : R{};
  }
}

cudnnStatus_t Run(const char* name, cudnnHandle_t handle, cudnnTensorTransformDescriptor_t transform,
                  const void* alpha, const Layout& xl, const void* x, const void* beta, const Layout& yl,
                  void* y) {
  if (!AllGiven(handle, transform, alpha, x, beta, y)) return CUDNN_STATUS_BAD_PARAM;
  const Transform by(*transform);
  const Extents extents = by.ResultOf(xl.extents);
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
  if (transform == nullptr || count < 3 || count > kMaxExtents ||
      (direction != CUDNN_TRANSFORM_FOLD && direction != CUDNN_TRANSFORM_UNFOLD))
    return CUDNN_STATUS_BAD_PARAM;
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) return CUDNN_STATUS_NOT_SUPPORTED;
  // What is not given stays as it was, as recorded.
  const cudnnTensorTransformStruct made{format, ListOr(before, count, transform->before, 0),
                                        ListOr(after, count, transform->after, 0),
                                        ListOr(folds, count - 2, transform->folds, 1), direction};
  if (!ArePositive(made.before, 0) || !ArePositive(made.after, 0) || !ArePositive(made.folds))
    return CUDNN_STATUS_BAD_PARAM;
  *transform = made;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transform, uint32_t wanted,
                                                cudnnTensorFormat_t* format, int32_t before[],
                                                int32_t after[], uint32_t folds[],
                                                cudnnFoldingDirection_t* direction) {
  if (transform == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Give(format, transform->format), Give(direction, transform->direction);
  GiveAll(before, transform->before, wanted), GiveAll(after, transform->after, wanted);
  GiveAll(folds, transform->folds, wanted < 2 ? 0 : wanted - 2);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnInitTransformDest(cudnnTensorTransformDescriptor_t transform,
                                     cudnnTensorDescriptor_t xLayout, cudnnTensorDescriptor_t yLayout,
                                     size_t* size) {
  if (!AllGiven(transform, xLayout, yLayout, size)) return CUDNN_STATUS_BAD_PARAM;
  const Extents extents = Transform(*transform).ResultOf(xLayout->layout.extents);
  if (extents.empty()) return CUDNN_STATUS_BAD_PARAM;
  yLayout->layout = {xLayout->layout.type, extents, StridesOf(transform->format, extents)};
  *size = static_cast<size_t>(yLayout->layout.Count() * BytesOf(yLayout->layout.type));
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
