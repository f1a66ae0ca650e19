// Surfaces: addresses of accesses, and formatted stores.
#include <stdint.h>

#include "runtime/abi/abi.h"
#include "runtime/texture/coordinates.h"
#include "runtime/texture/texel.h"

namespace ptx2cpu::texture {

namespace {

int64_t InRange(int64_t value, int64_t size, bool clamp, bool& inside) {
  if (value >= 0 && value < size) return value;
  if (!clamp) inside = false;
  return Clamped(value, 0, size - 1);
}

// Numbers of layers are unsigned.
int64_t Layer(int64_t z) { return static_cast<uint32_t>(z); }

constexpr uint64_t kMisaligned = 1;

uint64_t Address(const ptx2cpu_surface& s, int64_t x, int64_t y, int64_t z, uint32_t access) {
  const ptx2cpu_image_level& level = s.image.level[0];
  const int64_t texel = static_cast<int64_t>(ChannelBytes(s.image.channel)) * s.image.channels;
  const bool by_texel = (access & PTX2CPU_ACCESS_TEXELS) != 0, clamp = (access & PTX2CPU_ACCESS_CLAMP) != 0;
  const int64_t bytes = by_texel ? texel : access >> PTX2CPU_ACCESS_BYTES_SHIFT;
  if (by_texel || (access & PTX2CPU_ACCESS_SAMPLES) != 0) x *= bytes;
  if ((x & (bytes - 1)) != 0) return kMisaligned;
  bool inside = true;
  const uint32_t geometry = access & PTX2CPU_ACCESS_GEOMETRY;
  x = InRange(x, level.width * texel - bytes + 1, clamp, inside);
  int64_t slice = 0;
  switch (static_cast<ptx2cpu_geometry>(geometry)) {
    case PTX2CPU_GEOMETRY_1D:
      y = 0;
      break;
    case PTX2CPU_GEOMETRY_2D:
      y = InRange(y, level.height, clamp, inside);
      break;
    case PTX2CPU_GEOMETRY_3D:
      y = InRange(y, level.height, clamp, inside);
      slice = InRange(z, level.depth, clamp, inside);
      break;
    case PTX2CPU_GEOMETRY_A1D:
      y = 0;
      slice = InRange(Layer(z), s.image.layers, clamp, inside);
      break;
    case PTX2CPU_GEOMETRY_A2D:
    case PTX2CPU_GEOMETRY_CUBE:  // to surfaces, cubes are layers
    case PTX2CPU_GEOMETRY_ACUBE:
      y = InRange(y, level.height, clamp, inside);
      slice = InRange(Layer(z), s.image.layers, clamp, inside);
      break;
  }
  if (!inside) return 0;
  return reinterpret_cast<uint64_t>(level.base) + static_cast<uint64_t>(slice) * level.slice +
         static_cast<uint64_t>(y) * level.pitch + static_cast<uint64_t>(x);
}

// Toward zero.
uint16_t FloatToHalf(float value) {
  const uint32_t bits = BitsOf(value), magnitude = bits & kMagnitude;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (magnitude >= kInfinity) return static_cast<uint16_t>(sign | 0x7C00 | (magnitude >> 13 & 0x3FF));
  if (magnitude >= BitsOf(65504.0f)) return sign | 0x7BFF;
  if (magnitude < BitsOf(0x1p-14f))
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(FloatOf(magnitude) * 0x1p24f));
  return static_cast<uint16_t>(sign | (magnitude - (112u << 23)) >> 13);
}

// A channel of a formatted store, from the 32 bits of its register.
void WriteChannel(uint8_t* at, uint32_t channel, uint32_t bits) {
  const auto number = static_cast<int32_t>(bits);
  switch (static_cast<ptx2cpu_channel>(channel)) {
    case PTX2CPU_CHANNEL_U8:
      *at = static_cast<uint8_t>(bits < 255 ? bits : 255);
      return;
    case PTX2CPU_CHANNEL_S8:
      *at = static_cast<uint8_t>(Clamped(number, -128, 127));
      return;
    case PTX2CPU_CHANNEL_U16: {
      const auto value = static_cast<uint16_t>(bits < 65535 ? bits : 65535);
      __builtin_memcpy(at, &value, sizeof value);
      return;
    }
    case PTX2CPU_CHANNEL_S16: {
      const auto value = static_cast<int16_t>(Clamped(number, -32768, 32767));
      __builtin_memcpy(at, &value, sizeof value);
      return;
    }
    case PTX2CPU_CHANNEL_F16: {
      const uint16_t value = FloatToHalf(FloatOf(bits));
      __builtin_memcpy(at, &value, sizeof value);
      return;
    }
    case PTX2CPU_CHANNEL_U32:
    case PTX2CPU_CHANNEL_S32:
    case PTX2CPU_CHANNEL_F32:
      __builtin_memcpy(at, &bits, sizeof bits);
  }
}

}  // namespace

}  // namespace ptx2cpu::texture

using namespace ptx2cpu::texture;

extern "C" uint64_t ptx2cpu_surface_address(const ptx2cpu_surface* surface, uint32_t x, uint32_t y,
                                            uint32_t z, uint32_t access) {
  if (surface == nullptr) return 0;
  return Address(*surface, static_cast<int32_t>(x), static_cast<int32_t>(y), static_cast<int32_t>(z), access);
}

extern "C" void ptx2cpu_surface_store(const ptx2cpu_surface* surface, uint64_t address, uint32_t r,
                                      uint32_t g, uint32_t b, uint32_t a) {
  const uint32_t values[4] = {r, g, b, a};
  auto* at = reinterpret_cast<uint8_t*>(address);
  const uint32_t bytes = ChannelBytes(surface->image.channel);
  for (uint32_t c = 0; c < surface->image.channels; ++c)
    WriteChannel(at + c * bytes, surface->image.channel, values[c]);
}
