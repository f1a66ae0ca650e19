// From coordinates to texels, one axis at a time, as an H200 does it (recorded in tests/ptx/tex_*.gpu):
// normalised coordinates are cut to 21 or 22 bits after the point, positions between texels to 8 bits,
// rounded to nearest with ties upward.
#pragma once

#include <stdint.h>

#include "runtime/abi/texture.h"
#include "runtime/texture/weighted_sum.h"

namespace ptx2cpu::texture {

constexpr int64_t kOutside = -1;  // index of a border texel

// Two neighbours on an axis, and the weight of the second one in 1/256.
struct Neighbours {
  int64_t index[2];
  int weight;
};

// Bits after the point of a normalised coordinate.
inline int CoordinateBits(int64_t size) { return size > 8192 ? 22 : 21; }

// floor(x * 2^bits), within +-2^52; NaN counts as 0.
inline int64_t FloorScaled(float x, int bits) {
  if ((BitsOf(x) & kMagnitude) < 0x00800000) return 0;  // subnormals are zero
  double scaled = static_cast<double>(x) * static_cast<double>(int64_t{1} << bits);
  constexpr double kLimit = 4503599627370496.0;
  if (!(scaled > -kLimit)) scaled = scaled <= -kLimit ? -kLimit : 0;
  if (scaled > kLimit) scaled = kLimit;
  const int64_t whole = static_cast<int64_t>(scaled);
  return whole - (static_cast<double>(whole) > scaled ? 1 : 0);
}

// Nearly always the value is at most one period away.
inline int64_t Modulo(int64_t value, int64_t size) {
  if (value < 0) value += size;
  if (value >= size) value -= size;
  if (value >= 0 && value < size) [[likely]]
    return value;
  const int64_t rest = value % size;
  return rest < 0 ? rest + size : rest;
}

inline int64_t Clamped(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// The texel for number `index` of an axis.
inline int64_t Resolve(int64_t index, int64_t size, uint32_t mode) {
  switch (static_cast<ptx2cpu_address_mode>(mode)) {
    case PTX2CPU_ADDRESS_WRAP:
      return Modulo(index, size);
    case PTX2CPU_ADDRESS_MIRROR: {
      const int64_t at = Modulo(index, 2 * size);
      return at < size ? at : 2 * size - 1 - at;
    }
    case PTX2CPU_ADDRESS_BORDER:
      return index < 0 || index >= size ? kOutside : index;
    case PTX2CPU_ADDRESS_CLAMP:
      break;
  }
  return Clamped(index, 0, size - 1);
}

// How one axis is addressed.
struct Axis {
  int64_t size;   // texels
  uint32_t mode;  // ptx2cpu_address_mode
  bool normalized;
  int64_t offset;  // texels
};

// Position in 1/2^bits of a texel, `bits` at most 8; rounds to nearest where bits are 8, else down.
inline int64_t Position(const Axis& axis, float x, int bits) {
  if (!axis.normalized) {
    return bits == 0 ? FloorScaled(x, 0) : (FloorScaled(x, bits + 1) + 1) >> 1;
  }
  const int fraction = CoordinateBits(axis.size);
  const int64_t one = int64_t{1} << fraction;
  int64_t fixed = FloorScaled(x, fraction);
  // A repeating coordinate is reduced to one period before it is scaled; any other is clamped near the image.
  if (axis.mode == PTX2CPU_ADDRESS_WRAP) {
    fixed &= one - 1;
  } else if (axis.mode == PTX2CPU_ADDRESS_MIRROR) {
    fixed &= 2 * one - 1;
  } else {
    fixed = Clamped(fixed, -4 * one, 4 * one);
  }
  const int64_t scaled = fixed * axis.size;
  if (bits == 0) return scaled >> fraction;
  const int shift = fraction - bits;
  return (scaled + (int64_t{1} << (shift - 1))) >> shift;
}

inline int64_t PointIndex(const Axis& axis, float x) {
  return Resolve(Position(axis, x, 0) + axis.offset, axis.size, axis.mode);
}

inline Neighbours LinearIndices(const Axis& axis, float x) {
  int64_t position = Position(axis, x, kWeightBits) - kWeightOne / 2 + axis.offset * kWeightOne;
  if (axis.mode == PTX2CPU_ADDRESS_CLAMP) position = Clamped(position, 0, (axis.size - 1) * kWeightOne);
  const int64_t first = position >> kWeightBits;
  return {{Resolve(first, axis.size, axis.mode), Resolve(first + 1, axis.size, axis.mode)},
          static_cast<int>(position & (kWeightOne - 1))};
}

// The same without an address mode: texel numbers may be outside.
inline Neighbours OpenNeighbours(const Axis& axis, float x) {
  const int64_t position = Position(axis, x, kWeightBits) - kWeightOne / 2;
  const int64_t first = position >> kWeightBits;
  return {{first, first + 1}, static_cast<int>(position & (kWeightOne - 1))};
}

// The same texels for tld4.
inline Neighbours FootprintIndices(const Axis& axis, float x) {
  const int64_t position = Position(axis, x, kWeightBits) - kWeightOne / 2;
  const int64_t first = (position >> kWeightBits) + axis.offset;
  return {{Resolve(first, axis.size, axis.mode), Resolve(first + 1, axis.size, axis.mode)}, 0};
}

inline uint32_t Extent(const ptx2cpu_image_level& level, uint32_t dimension) {
  return dimension == 0 ? level.width : dimension == 1 ? level.height : level.depth;
}

// The address mode of a coordinate: only normalised ones repeat.
inline uint32_t ModeOf(const ptx2cpu_texture& t, uint32_t dimension, bool normalized) {
  if (normalized || t.address[dimension] == PTX2CPU_ADDRESS_BORDER) return t.address[dimension];
  return PTX2CPU_ADDRESS_CLAMP;
}

}  // namespace ptx2cpu::texture
