// Windows that slide over one to three axes of space, for convolutions and pooling.
#pragma once

#include <array>
#include <optional>

#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

inline constexpr int kMaxSpace = 3;
using Space = std::array<int64_t, kMaxSpace>;
inline int64_t Volume(const Space& space) { return space[0] * space[1] * space[2]; }

// Axes that are missing are 1 long. Position o of the output reads the input at o * stride - pad + k *
// dilation.
struct Windows {
  Space in, out, window, pad, stride, dilation;
};

// Images and channels, all groups' together; `windows` go over each channel.
struct ConvolutionShape {
  int64_t images, groups, inputs, outputs;  // channels of a group
  Windows windows;
  bool flips;  // the filter runs against the input's direction
};

// Extents of the output. Empty: they do not fit together.
std::vector<int64_t> OutputOf(const cudnnConvolutionStruct& convolution, const Layout& x,
                              const cudnnFilterStruct& filter);
std::vector<int64_t> OutputOf(const cudnnPoolingStruct& pooling, const Layout& x);

// Nothing where the layouts do not fit together.
std::optional<ConvolutionShape> ShapeOf(const cudnnConvolutionStruct& convolution, const Layout& x,
                                        const cudnnFilterStruct& filter, const Layout& y);
std::optional<Windows> WindowsOf(const cudnnPoolingStruct& pooling, const Layout& x, const Layout& y);

// Calls each(window, place in the input) for the places of a window that lie in the input, in ascending
// order.
template <typename Each>
void ForWindow(const Windows& windows, const Space& out, const Each& each) {
  Space at;
  int64_t number = 0;
  for (int64_t i = 0; i < windows.window[0]; ++i) {
    at[0] = out[0] * windows.stride[0] - windows.pad[0] + i * windows.dilation[0];
    for (int64_t j = 0; j < windows.window[1]; ++j) {
      at[1] = out[1] * windows.stride[1] - windows.pad[1] + j * windows.dilation[1];
      for (int64_t k = 0; k < windows.window[2]; ++k, ++number) {
        at[2] = out[2] * windows.stride[2] - windows.pad[2] + k * windows.dilation[2];
        const bool inside = at[0] >= 0 && at[0] < windows.in[0] && at[1] >= 0 && at[1] < windows.in[1] &&
                            at[2] >= 0 && at[2] < windows.in[2];
        if (inside) each(number, (at[0] * windows.in[1] + at[1]) * windows.in[2] + at[2]);
      }
    }
  }
}
inline Space PlaceOf(int64_t number, const Space& extents) {
  return {number / (extents[1] * extents[2]), number / extents[2] % extents[1], number % extents[2]};
}

}  // namespace ptx2cpu::cudnn
