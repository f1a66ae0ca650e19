// Reads one texel: from memory to the 32 bits per channel that an instruction returns.
#pragma once

#include <stdint.h>

#include "runtime/abi/texture.h"
#include "runtime/texture/weighted_sum.h"

namespace ptx2cpu::texture {

struct Texel {
  uint32_t channel[4];
};

inline uint32_t ChannelBytes(uint32_t channel) {
  constexpr uint8_t kBytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
  return kBytes[channel];
}

inline bool IsFloatChannel(uint32_t channel) { return channel >= PTX2CPU_CHANNEL_F16; }

// Independent mode: the sampler's settings in place of the texture's.
inline ptx2cpu_texture WithSampler(const ptx2cpu_texture& t, uint64_t sampler) {
  ptx2cpu_texture other = t;
  other.linear_filter = (sampler & PTX2CPU_SAMPLER_LINEAR) != 0;
  if ((sampler & PTX2CPU_SAMPLER_UNNORMALIZED) != 0) other.normalized = 0;
  for (uint32_t d = 0; d < 3; ++d) other.address[d] = sampler >> (PTX2CPU_SAMPLER_ADDRESS_SHIFT + 4 * d) & 15;
  return other;
}

// Whether the texture returns floats, which may be filtered.
inline bool GivesFloats(const ptx2cpu_texture& t) {
  return IsFloatChannel(t.image.channel) || (t.as_float != 0 && t.image.channel <= PTX2CPU_CHANNEL_S16);
}

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7FFF;
  if (magnitude >= 0x7C00) return FloatOf(sign | kInfinity | magnitude << 13);
  const float finite = FloatOf(magnitude << 13) * 0x1p112f;  // moves the bias, also of subnormals
  return FloatOf(BitsOf(finite) | sign);
}

// value / largest, rounded to nearest; -1 for both of the lowest signed values.
inline float Normalised(int32_t value, int32_t largest) {
  const float result = static_cast<float>(value) / static_cast<float>(largest);
  return result < -1.0f ? -1.0f : result;
}

float SrgbToLinear(uint8_t code);

template <typename T>
inline T Read(const uint8_t* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

inline uint32_t ReadChannel(const uint8_t* at, uint32_t channel, bool as_float) {
  switch (static_cast<ptx2cpu_channel>(channel)) {
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
    case PTX2CPU_CHANNEL_U32:
    case PTX2CPU_CHANNEL_S32:
    case PTX2CPU_CHANNEL_F32:
      break;
  }
  return Read<uint32_t>(at);
}

// The form of a channel's texels in the filter.
inline bool IsSrgb(const ptx2cpu_texture& t, uint32_t number) {
  return t.srgb != 0 && number < 3 && t.image.channel == PTX2CPU_CHANNEL_U8 && t.as_float != 0;
}

inline FilterFormat FilterFormatOf(const ptx2cpu_texture& t, uint32_t number) {
  if (t.image.channel == PTX2CPU_CHANNEL_F32) return FilterFormat::kFloat32;
  if (IsSrgb(t, number)) return FilterFormat::kSrgb;
  if (t.image.channel == PTX2CPU_CHANNEL_F16) return FilterFormat::kFloat16;
  if (t.image.channel == PTX2CPU_CHANNEL_S8) return FilterFormat::kSigned8;
  return t.image.channel == PTX2CPU_CHANNEL_S16 ? FilterFormat::kSigned16 : FilterFormat::kUnsigned16;
}

// The value of a channel of 8 or 16 bits that the filter sums: unsigned ones widened to 16 bits, signed ones
// as they are.
inline uint32_t FilterInteger(const uint8_t* at, uint32_t channel) {
  if (channel == PTX2CPU_CHANNEL_U8) return *at * 257u;
  if (channel == PTX2CPU_CHANNEL_S8) return static_cast<uint32_t>(int32_t{Read<int8_t>(at)});
  if (channel == PTX2CPU_CHANNEL_U16) return Read<uint16_t>(at);
  return static_cast<uint32_t>(int32_t{Read<int16_t>(at)});
}

// Borders of normalised integers have the precision of the channel, halves rounded toward zero.
inline int32_t BorderInteger(uint32_t channel, float border) {
  constexpr int32_t kLargest[] = {255, 127, 65535, 32767};
  const bool is_signed = (channel & 1) != 0;
  const float magnitude = border < 0 ? -border : border;
  if ((border < 0 && !is_signed) || border != border) return 0;
  const float scaled = (magnitude < 1.0f ? magnitude : 1.0f) * static_cast<float>(kLargest[channel]);
  const auto down = static_cast<int32_t>(scaled);
  const int32_t rounded = down + (scaled - static_cast<float>(down) > 0.5f ? 1 : 0);
  return border < 0 ? -rounded : rounded;
}

inline uint32_t FilterBorder(const ptx2cpu_texture& t, uint32_t number) {
  if (IsFloatChannel(t.image.channel) || IsSrgb(t, number)) return BitsOf(t.border[number]);
  const int32_t value = BorderInteger(t.image.channel, t.border[number]);
  return static_cast<uint32_t>(t.image.channel == PTX2CPU_CHANNEL_U8 ? value * 257 : value);
}

// A border colour as a texel of the texture's format would be read.
inline uint32_t BorderChannel(const ptx2cpu_texture& t, uint32_t number) {
  const uint32_t bits = BitsOf(t.border[number]);
  if (IsFloatChannel(t.image.channel)) return bits;
  if (GivesFloats(t)) {
    constexpr int32_t kLargest[] = {255, 127, 65535, 32767};
    return BitsOf(Normalised(BorderInteger(t.image.channel, t.border[number]), kLargest[t.image.channel]));
  }
  switch (static_cast<ptx2cpu_channel>(t.image.channel)) {
    case PTX2CPU_CHANNEL_U8:
      return bits & 0xFF;
    case PTX2CPU_CHANNEL_S8:
      return static_cast<uint32_t>(int32_t{static_cast<int8_t>(bits)});
    case PTX2CPU_CHANNEL_U16:
      return bits & 0xFFFF;
    case PTX2CPU_CHANNEL_S16:
      return static_cast<uint32_t>(int32_t{static_cast<int16_t>(bits)});
    case PTX2CPU_CHANNEL_U32:
    case PTX2CPU_CHANNEL_S32:
    case PTX2CPU_CHANNEL_F16:
    case PTX2CPU_CHANNEL_F32:
      break;
  }
  return bits;
}

inline const uint8_t* AddressOf(const ptx2cpu_texture& t, const ptx2cpu_image_level& level, int64_t x,
                                int64_t y, int64_t slice) {
  return level.base + static_cast<uint64_t>(slice) * level.slice + static_cast<uint64_t>(y) * level.pitch +
         static_cast<uint64_t>(x) * t.image.channels * ChannelBytes(t.image.channel);
}

// Channels that the image lacks are zero. Where an index is negative it is the border.
inline Texel ReadTexel(const ptx2cpu_texture& t, const ptx2cpu_image_level& level, int64_t x, int64_t y,
                       int64_t slice) {
  Texel texel{};
  const bool outside = (x | y | slice) < 0;
  const uint8_t* at = outside ? nullptr : AddressOf(t, level, x, y, slice);
  const uint32_t bytes = ChannelBytes(t.image.channel);
  for (uint32_t c = 0; c < t.image.channels; ++c) {
    texel.channel[c] = outside        ? BorderChannel(t, c)
                       : IsSrgb(t, c) ? BitsOf(SrgbToLinear(at[c]))
                                      : ReadChannel(at + c * bytes, t.image.channel, t.as_float != 0);
  }
  return texel;
}

// The same for the filter.
inline Texel ReadFilterTexel(const ptx2cpu_texture& t, const ptx2cpu_image_level& level, int64_t x, int64_t y,
                             int64_t slice) {
  Texel texel{};
  const bool outside = (x | y | slice) < 0;
  const uint8_t* at = outside ? nullptr : AddressOf(t, level, x, y, slice);
  const uint32_t bytes = ChannelBytes(t.image.channel);
  for (uint32_t c = 0; c < t.image.channels; ++c) {
    const FilterFormat format = FilterFormatOf(t, c);
    texel.channel[c] = outside                         ? FilterBorder(t, c)
                       : IsSrgb(t, c)                  ? BitsOf(SrgbToLinear(at[c]))
                       : format <= FilterFormat::kSrgb ? ReadChannel(at + c * bytes, t.image.channel, true)
                                                       : FilterInteger(at + c * bytes, t.image.channel);
  }
  return texel;
}

}  // namespace ptx2cpu::texture
