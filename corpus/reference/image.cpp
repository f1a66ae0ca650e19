// References of the kernels on images and other planes of bytes.
#include <algorithm>

#include "reference.h"

namespace corpus {
namespace {

// Pixel with the coordinates clamped into the image.
template <typename T>
T Clamped(std::span<const T> image, int width, int height, int x, int y) {
  return image[std::clamp(y, 0, height - 1) * width + std::clamp(x, 0, width - 1)];
}

void Convolve(Call& call) {
  static const int kWeights[25] = {-1, -3, -4, -3, -1, -3, 0,  6,  0,  -3, -4, 6, 40,
                                   6,  -4, -3, 0,  6,  0,  -3, -1, -3, -4, -3, -1};
  const int width = call.Value<int32_t>(2), height = call.Value<int32_t>(3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int k = 0; k < 25; ++k)
        sum += kWeights[k] * Clamped(call.In<uint8_t>(0), width, height, x + k % 5 - 2, y + k / 5 - 2);
      const int scaled = (sum + 8) >> 4;
      call.Out<uint8_t>(1)[y * width + x] = static_cast<uint8_t>(std::clamp(scaled, 0, 255));
    }
  }
}

void Median(Call& call) {
  const int width = call.Value<int32_t>(2), height = call.Value<int32_t>(3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint16_t around[9];
      for (int k = 0; k < 9; ++k)
        around[k] = Clamped(call.In<uint16_t>(0), width, height, x + k % 3 - 1, y + k / 3 - 1);
      std::sort(around, around + 9);
      call.Out<uint16_t>(1)[y * width + x] = around[4];
    }
  }
}

void Life(Call& call) {
  const int width = call.Value<int32_t>(2), height = call.Value<int32_t>(3);
  const auto in = call.In<uint8_t>(0);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int with_self = 0;
      for (int dy : {height - 1, 0, 1})
        for (int dx : {width - 1, 0, 1}) with_self += in[(y + dy) % height * width + (x + dx) % width];
      const bool alive = in[y * width + x];
      call.Out<uint8_t>(1)[y * width + x] = with_self == 3 || (with_self == 4 && alive);
    }
  }
}

void Grey(Call& call) {
  const auto in = call.In<uint8_t>(0);
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const int weighted = 77 * in[4 * i] + 150 * in[4 * i + 1] + 29 * in[4 * i + 2];
    call.Out<uint8_t>(1)[2 * i] = static_cast<uint8_t>((weighted + 128) / 256);
    call.Out<uint8_t>(1)[2 * i + 1] = in[4 * i + 3];
  }
}

}  // namespace

void AddImageReferences(References& references) {
  references["convolve_2d"] = Convolve;
  references["local_array_median"] = Median;
  references["life_step"] = Life;
  references["rgba_to_grey"] = Grey;
}

}  // namespace corpus
