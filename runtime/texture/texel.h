// Reading one texel: what is in memory, to the 32 bits per channel that an instruction gets.
#pragma once

#include <stdint.h>

#include "runtime/abi/texture.h"
#include "runtime/texture/float_sum.h"

namespace ptx2cpu::texture {

struct Texel {
  uint32_t channel[4];
};

inline uint32_t ChannelBytes(uint32_t channel) {
  constexpr uint8_t kBytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
  return kBytes[channel];
}

inline bool IsFloatChannel(uint32_t channel) { return channel >= PTX2CPU_CHANNEL_F16; }

// Does the texture give floats, which may be filtered?
inline bool GivesFloats(const ptx2cpu_texture& t) {
  return IsFloatChannel(t.image.channel) || (t.as_float != 0 && t.image.channel <= PTX2CPU_CHANNEL_S16);
}

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7FFF;
  if (magnitude >= 0x7C00) return FloatOf(sign | (magnitude == 0x7C00 ? kInfinity : kNan));
  const float finite = FloatOf(magnitude << 13) * 0x1p112f;  // moves the bias, also of subnormals
  return FloatOf(BitsOf(finite) | sign);
}

// Of `value / largest`, to nearest; -1 for both of the lowest signed values.
inline float Normalised(int32_t value, int32_t largest) {
  const float result = static_cast<float>(value) / static_cast<float>(largest);
  return result < -1.0f ? -1.0f : result;
}

float SrgbToLinear(uint8_t code);

template <typename T>
T Read(const uint8_t* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

inline uint32_t ReadChannel(const uint8_t* at, uint32_t channel, bool as_float) {
  switch (channel) {
    case PTX2CPU_CHANNEL_U8:
      return as_float ? BitsOf(Normalised(*at, 255)) : *at;
    case PTX2CPU_CHANNEL_S8: {
      const auto value = Read<int8_t>(at);
      return as_float ? BitsOf(Normalised(value, 127)) : static_cast<uint32_t>(int32_t{value});
    }
    case PTX2CPU_CHANNEL_U16: {
      const auto value = Read<uint16_t>(at);
      return as_float ? BitsOf(Normalised(value, 65535)) : value;
    }
    case PTX2CPU_CHANNEL_S16: {
      const auto value = Read<int16_t>(at);
      return as_float ? BitsOf(Normalised(value, 32767)) : static_cast<uint32_t>(int32_t{value});
    }
    case PTX2CPU_CHANNEL_F16:
      return BitsOf(HalfToFloat(Read<uint16_t>(at)));
    default:
      return Read<uint32_t>(at);
  }
}

// A border colour as a texel of the texture's format would be read.
inline uint32_t BorderChannel(const ptx2cpu_texture& t, uint32_t number) {
  const uint32_t bits = BitsOf(t.border[number]);
  if (GivesFloats(t)) return bits;
  switch (t.image.channel) {
    case PTX2CPU_CHANNEL_U8:
      return bits & 0xFF;
    case PTX2CPU_CHANNEL_S8:
      return static_cast<uint32_t>(int32_t{static_cast<int8_t>(bits)});
    case PTX2CPU_CHANNEL_U16:
      return bits & 0xFFFF;
    case PTX2CPU_CHANNEL_S16:
      return static_cast<uint32_t>(int32_t{static_cast<int16_t>(bits)});
    default:
      return bits;
  }
}

// Channels that the image lacks are zero. Where an index is negative it is the border.
inline Texel ReadTexel(const ptx2cpu_texture& t, const ptx2cpu_image_level& level, int64_t x, int64_t y, int64_t slice) {
  Texel texel{};
  const ptx2cpu_image& image = t.image;
  if ((x | y | slice) < 0) {
    for (uint32_t c = 0; c < image.channels; ++c) texel.channel[c] = BorderChannel(t, c);
    return texel;
  }
  const uint32_t bytes = ChannelBytes(image.channel);
  const uint8_t* at = level.base + static_cast<uint64_t>(slice) * level.slice + static_cast<uint64_t>(y) * level.pitch +
                      static_cast<uint64_t>(x) * image.channels * bytes;
  for (uint32_t c = 0; c < image.channels; ++c) {
    const bool coded = t.srgb != 0 && c < 3 && image.channel == PTX2CPU_CHANNEL_U8 && t.as_float != 0;
    texel.channel[c] = coded ? BitsOf(SrgbToLinear(at[c])) : ReadChannel(at + c * bytes, image.channel, t.as_float != 0);
  }
  return texel;
}

}  // namespace ptx2cpu::texture
