#include "runtime/cuda/libraries/dnn/shapes.h"

#include <algorithm>

namespace ptx2cpu::cudnn {

namespace {

// The last axes; those before are `missing`.
Space SpaceOf(const std::vector<int64_t>& numbers, size_t skipped, int64_t missing) {
  Space space{missing, missing, missing};
  const size_t count = numbers.size() - skipped;
  std::copy(numbers.begin() + static_cast<ptrdiff_t>(skipped), numbers.end(),
            space.end() - static_cast<ptrdiff_t>(count));
  return space;
}

int64_t Steps(int64_t in, int64_t window, int64_t pad, int64_t stride, int64_t dilation) {
  const int64_t room = in + 2 * pad - ((window - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

std::vector<int64_t> OutputOf(const cudnnConvolutionStruct& convolution, const Layout& x,
                              const cudnnFilterStruct& filter) {
  const std::vector<int64_t>& window = filter.layout.extents;
  const size_t space = convolution.pads.size();
  if (space == 0 || x.extents.size() != space + 2 || window.size() != space + 2) return {};
  if (x.extents[1] != window[1] * convolution.groups || window[0] % convolution.groups != 0) return {};
  std::vector<int64_t> out{x.extents[0], window[0]};
  for (size_t axis = 0; axis < space; ++axis) {
    out.push_back(Steps(x.extents[axis + 2], window[axis + 2], convolution.pads[axis],
                        convolution.strides[axis], convolution.dilations[axis]));
    if (out.back() == 0) return {};
  }
  return out;
}

std::vector<int64_t> OutputOf(const cudnnPoolingStruct& pooling, const Layout& x) {
  const size_t space = pooling.window.size();
  if (space == 0 || x.extents.size() != space + 2) return {};
  std::vector<int64_t> out{x.extents[0], x.extents[1]};
  for (size_t axis = 0; axis < space; ++axis) {
    out.push_back(
        Steps(x.extents[axis + 2], pooling.window[axis], pooling.pads[axis], pooling.strides[axis], 1));
    if (out.back() == 0) return {};
  }
  return out;
}

std::optional<ConvolutionShape> ShapeOf(const cudnnConvolutionStruct& convolution, const Layout& x,
                                        const cudnnFilterStruct& filter, const Layout& y) {
  if (OutputOf(convolution, x, filter) != y.extents || y.extents.empty()) return std::nullopt;
  return ConvolutionShape{
      .images = x.extents[0],
      .groups = convolution.groups,
      .inputs = filter.layout.extents[1],
      .outputs = filter.layout.extents[0] / convolution.groups,
      .windows = {SpaceOf(x.extents, 2, 1), SpaceOf(y.extents, 2, 1), SpaceOf(filter.layout.extents, 2, 1),
                  SpaceOf(convolution.pads, 0, 0), SpaceOf(convolution.strides, 0, 1),
                  SpaceOf(convolution.dilations, 0, 1)},
      .flips = convolution.mode == CUDNN_CONVOLUTION,
  };
}

std::optional<Windows> WindowsOf(const cudnnPoolingStruct& pooling, const Layout& x, const Layout& y) {
  if (OutputOf(pooling, x) != y.extents || y.extents.empty()) return std::nullopt;
  return Windows{SpaceOf(x.extents, 2, 1),    SpaceOf(y.extents, 2, 1),       SpaceOf(pooling.window, 0, 1),
                 SpaceOf(pooling.pads, 0, 0), SpaceOf(pooling.strides, 0, 1), Space{1, 1, 1}};
}

}  // namespace ptx2cpu::cudnn
