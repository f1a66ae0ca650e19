#include "runtime/texture/plain_fetch.h"

#include "runtime/abi/abi.h"
#include "runtime/texture/coordinates.h"

namespace ptx2cpu::texture {

namespace {

Axis PlainAxis(const ptx2cpu_texture& t, uint32_t dimension) {
  return {Extent(t.image.level[0], dimension), ModeOf(t, dimension, t.normalized != 0), t.normalized != 0, 0};
}

// Four texels of f32 or normalised u8 channels; a line is a plane whose rows are the same.
template <typename T, uint32_t kChannels>
Texel PlainSum(const ptx2cpu_texture& t, const Neighbours& x, const Neighbours& y) {
  const ptx2cpu_image_level& level = t.image.level[0];
  int weights[4];
  SplitPlane(kWeightOne, x.weight, y.weight, weights);
  const uint8_t* corners[4];
  const int next_x = x.weight != 0, next_y = y.weight != 0;
  for (int i = 0; i < 4; ++i) {
    corners[i] = level.base + static_cast<uint64_t>(y.index[i >> 1 & next_y]) * level.pitch +
                 static_cast<uint64_t>(x.index[i & next_x]) * kChannels * sizeof(T);
  }
  Texel result{};
  for (uint32_t c = 0; c < kChannels; ++c) {
    uint32_t values[4];
    for (int i = 0; i < 4; ++i) values[i] = Read<T>(corners[i] + c * sizeof(T));
    if constexpr (sizeof(T) == 1) {
      for (uint32_t& value : values) value *= 257;
      result.channel[c] = IntegerSum(FilterFormat::kUnsigned16, values, weights, 4);
    } else {
      result.channel[c] =
          weights[0] == kWeightOne ? OnlyFloat(values[0]) : FloatSum(kFormat32, values, weights, 4);
    }
  }
  return result;
}

}  // namespace

bool IsPlain(const ptx2cpu_texture& t, uint32_t fetch) {
  const bool line = fetch == PTX2CPU_GEOMETRY_1D && t.image.shape == PTX2CPU_SHAPE_1D;
  const bool plane = fetch == PTX2CPU_GEOMETRY_2D &&
                     (t.image.shape == PTX2CPU_SHAPE_2D || t.image.shape == PTX2CPU_SHAPE_PITCH);
  if (!line && !plane) return false;
  if (t.image.levels != 1) return false;
  if (t.linear_filter == 0) return true;
  const bool bordered = t.address[0] == PTX2CPU_ADDRESS_BORDER || t.address[1] == PTX2CPU_ADDRESS_BORDER;
  const bool bytes = t.image.channel == PTX2CPU_CHANNEL_U8 && t.as_float != 0 && t.srgb == 0;
  return (t.image.channel == PTX2CPU_CHANNEL_F32 || bytes) && !bordered;
}

Texel FetchPlain(const ptx2cpu_texture& t, uint32_t fetch, const uint32_t* words) {
  const bool plane = fetch == PTX2CPU_GEOMETRY_2D;
  if (t.linear_filter == 0) {
    const int64_t x = PointIndex(PlainAxis(t, 0), FloatOf(words[0]));
    const int64_t y = plane ? PointIndex(PlainAxis(t, 1), FloatOf(words[1])) : 0;
    return ReadTexel(t, t.image.level[0], x, y, 0);
  }
  const Neighbours x = LinearIndices(PlainAxis(t, 0), FloatOf(words[0]));
  Neighbours y{{0, 0}, 0};
  if (plane) y = LinearIndices(PlainAxis(t, 1), FloatOf(words[1]));
  const bool bytes = t.image.channel == PTX2CPU_CHANNEL_U8;
  switch (t.image.channels) {
    case 1:
      return bytes ? PlainSum<uint8_t, 1>(t, x, y) : PlainSum<uint32_t, 1>(t, x, y);
    case 2:
      return bytes ? PlainSum<uint8_t, 2>(t, x, y) : PlainSum<uint32_t, 2>(t, x, y);
    default:
      return bytes ? PlainSum<uint8_t, 4>(t, x, y) : PlainSum<uint32_t, 4>(t, x, y);
  }
}

}  // namespace ptx2cpu::texture
