// Texels of 32 lanes: the rules of ../texel.h.
#pragma once

#include "runtime/abi/texture.h"
#include "runtime/texture/lanes/vectors.h"

namespace ptx2cpu::texture::PTX2CPU_LANES {

// The layout of a texture's texels in memory.
struct Layout {
  uint32_t channel;   // ptx2cpu_channel
  uint32_t channels;  // 1, 2 or 4
  uint32_t channel_bytes, texel_bytes;
};

struct RawTexel {
  Words word[4];  // as in memory, as many as a texel has
};

PTX2CPU_INLINE void ReadRaw(const Layout& layout, const uint8_t* base, const Ints& offsets, RawTexel& raw) {
  if (layout.texel_bytes < 4) {
    raw.word[0] = GatherNarrow(base, offsets, layout.texel_bytes);
    return;
  }
  for (uint32_t i = 0; i < layout.texel_bytes / 4; ++i) raw.word[i] = Gather(base + 4 * i, offsets);
}

// A channel without sign or conversion.
PTX2CPU_INLINE Words RawChannel(const Layout& layout, const RawTexel& raw, uint32_t number) {
  const uint32_t at = number * layout.channel_bytes;
  const Words word = raw.word[at / 4];
  if (layout.channel_bytes == 4) return word;
  return word >> (at % 4 * 8) & (layout.channel_bytes == 1 ? 0xFFu : 0xFFFFu);
}

PTX2CPU_INLINE Ints Signed(const Words& raw, int bits) { return As<Ints>(raw) << (32 - bits) >> (32 - bits); }

PTX2CPU_INLINE Words WordsOf(const Floats& x) { return As<Words>(x); }
PTX2CPU_INLINE Words WordsOf(const Ints& x) { return As<Words>(x); }

PTX2CPU_INLINE Words Normalise(const Ints& value, float largest) {
  return WordsOf(Most(Convert<Floats>(value) / largest, Each(-1.0f)));
}

PTX2CPU_INLINE Words HalfToFloat(const Words& half) {
  const Words sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu, shifted = magnitude << 13;
  const Words finite = WordsOf(As<Floats>(shifted) * 0x1p112f);
  return (magnitude >= 0x7C00u ? shifted | 0x7F800000u : finite) | sign;
}

// The value that an instruction returns.
PTX2CPU_INLINE Words ChannelValue(uint32_t channel, bool as_float, const Words& raw) {
  switch (static_cast<ptx2cpu_channel>(channel)) {
    case PTX2CPU_CHANNEL_U8:
      return as_float ? Normalise(Convert<Ints>(raw), 255.0f) : raw;
    case PTX2CPU_CHANNEL_S8:
      return as_float ? Normalise(Signed(raw, 8), 127.0f) : WordsOf(Signed(raw, 8));
    case PTX2CPU_CHANNEL_U16:
      return as_float ? Normalise(Convert<Ints>(raw), 65535.0f) : raw;
    case PTX2CPU_CHANNEL_S16:
      return as_float ? Normalise(Signed(raw, 16), 32767.0f) : WordsOf(Signed(raw, 16));
    case PTX2CPU_CHANNEL_F16:
      return HalfToFloat(raw);
    case PTX2CPU_CHANNEL_U32:
    case PTX2CPU_CHANNEL_S32:
    case PTX2CPU_CHANNEL_F32:
      break;
  }
  return raw;
}

// The value that the filter sums.
PTX2CPU_INLINE Words FilterValue(uint32_t channel, const Words& raw) {
  switch (static_cast<ptx2cpu_channel>(channel)) {
    case PTX2CPU_CHANNEL_U8:
      return raw * 257u;
    case PTX2CPU_CHANNEL_S8:
      return WordsOf(Signed(raw, 8));
    case PTX2CPU_CHANNEL_S16:
      return WordsOf(Signed(raw, 16));
    case PTX2CPU_CHANNEL_F16:
      return HalfToFloat(raw);
    case PTX2CPU_CHANNEL_U16:
    case PTX2CPU_CHANNEL_U32:
    case PTX2CPU_CHANNEL_S32:
    case PTX2CPU_CHANNEL_F32:
      break;
  }
  return raw;
}

}  // namespace ptx2cpu::texture::PTX2CPU_LANES
