// A convolution with strides as one without: the places between two steps become channels of the filter and
// of the data, whose numbers become multiples of 8 where that is possible. Everything is as recorded.
#include <algorithm>

#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

namespace {

using Extents = std::vector<int64_t>;

int64_t RoundedUp(int64_t number, int64_t step) { return (number + step - 1) / step * step; }

// What is added before and after an axis, and its sizes then.
struct FoldedAxis {
  int64_t stride, pad, filter_before, filter_after, filter, grad, diff, grad_after, unfold_after;
};
FoldedAxis Fold(int64_t stride, int64_t pad, int64_t window, int64_t size, int64_t output) {
  FoldedAxis axis{};
  axis.stride = stride, axis.pad = RoundedUp(pad, stride) / stride;
  axis.filter_before = axis.pad * stride - pad;
  const int64_t whole = RoundedUp(window + axis.filter_before, stride);
  axis.filter_after = whole - window - axis.filter_before;
  axis.filter = whole / stride;
  // What the last step reads; the rest of the data has no gradient.
  axis.grad = RoundedUp((output - 1) * stride + window - 2 * pad, stride) / stride;
  axis.diff = axis.grad + 2 * axis.pad - axis.filter + 1;
  axis.unfold_after = size - axis.grad * stride;
  axis.grad_after = std::min<int64_t>(0, -axis.unfold_after);
  return axis;
}

void Set(Layout& layout, cudnnDataType_t type, cudnnTensorFormat_t format, Extents extents) {
  layout = {type, extents, StridesOf(format, extents)};
}

}  // namespace

cudnnStatus_t cudnnGetFoldedConvBackwardDataDescriptors(
    cudnnHandle_t, cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t diff,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t grad, cudnnTensorFormat_t format,
    cudnnFilterDescriptor_t foldedFilter, cudnnTensorDescriptor_t paddedDiff,
    cudnnConvolutionDescriptor_t foldedConvolution, cudnnTensorDescriptor_t foldedGrad,
    cudnnTensorTransformDescriptor_t filterFold, cudnnTensorTransformDescriptor_t diffPad,
    cudnnTensorTransformDescriptor_t gradFold, cudnnTensorTransformDescriptor_t gradUnfold) {
  if (!AllGiven(filter, diff, convolution, grad)) return CUDNN_STATUS_BAD_PARAM;
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!AllGiven(foldedFilter, paddedDiff, foldedConvolution, foldedGrad, filterFold, diffPad, gradFold,
                gradUnfold))
    return CUDNN_STATUS_BAD_PARAM;
  const Extents &w = filter->layout.extents, &y = diff->layout.extents, &x = grad->layout.extents;
  const size_t space = convolution->strides.size();
  if (w.size() != space + 2 || y.size() != w.size() || x.size() != w.size()) return CUDNN_STATUS_BAD_PARAM;
  if (convolution->groups != 1 ||
      std::ranges::any_of(convolution->dilations, [](int64_t d) { return d != 1; }))
    return CUDNN_STATUS_NOT_SUPPORTED;
  std::vector<FoldedAxis> axes;
  int64_t parts = 1;
  for (size_t i = 0; i < space; ++i) {
    axes.push_back(Fold(convolution->strides[i], convolution->pads[i], w[i + 2], x[i + 2], y[i + 2]));
    if (axes.back().diff < y[i + 2]) return CUDNN_STATUS_NOT_SUPPORTED;
    parts *= axes.back().stride;
  }
  constexpr int64_t kChannels = 8;
  const int64_t more_outputs = RoundedUp(w[0], kChannels) - w[0];
  const int64_t more_inputs = (RoundedUp(w[1] * parts, kChannels) - w[1] * parts) / parts;
  const auto with = [&](int64_t first, int64_t second, int64_t FoldedAxis::* member) {
    Extents list = {first, second};
    for (const FoldedAxis& axis : axes) list.push_back(axis.*member);
    return list;
  };
  const Extents none(w.size(), 0), not_folded(space, 0);
  Extents folds = with(0, 0, &FoldedAxis::stride), pads = with(0, 0, &FoldedAxis::pad);
  folds.erase(folds.begin(), folds.begin() + 2), pads.erase(pads.begin(), pads.begin() + 2);
  Extents after_diff = {0, more_outputs};
  for (size_t i = 0; i < space; ++i) after_diff.push_back(axes[i].diff - y[i + 2]);

  const int64_t outputs = w[0] + more_outputs, inputs = (w[1] + more_inputs) * parts;
  const cudnnTensorTransformStruct of_filter{format, with(0, 0, &FoldedAxis::filter_before),
                                             with(more_outputs, more_inputs, &FoldedAxis::filter_after),
                                             folds, CUDNN_TRANSFORM_FOLD},
      of_diff{format, none, after_diff, not_folded, CUDNN_TRANSFORM_FOLD},
      of_grad{format, none, with(0, more_inputs, &FoldedAxis::grad_after), folds, CUDNN_TRANSFORM_FOLD},
      back{CUDNN_TENSOR_NCHW, none, with(0, -more_inputs, &FoldedAxis::unfold_after), folds,
           CUDNN_TRANSFORM_UNFOLD};
  foldedFilter->format = format;
  Set(foldedFilter->layout, filter->layout.type, format, with(outputs, inputs, &FoldedAxis::filter));
  Set(paddedDiff->layout, diff->layout.type, format, with(y[0], outputs, &FoldedAxis::diff));
  Set(foldedGrad->layout, grad->layout.type, format, with(x[0], inputs, &FoldedAxis::grad));
  cudnnConvolutionStruct folded = *convolution;
  folded.pads = pads, folded.strides = folded.dilations = Extents(space, 1);
  *foldedConvolution = folded;
  *filterFold = of_filter, *diffPad = of_diff, *gradFold = of_grad, *gradUnfold = back;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cudnn
