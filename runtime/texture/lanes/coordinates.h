// Coordinates to texels for 32 lanes: the rules of ../coordinates.h, in 32 bits where its 64 are not needed.
#pragma once

#include "runtime/abi/texture.h"
#include "runtime/texture/lanes/vectors.h"

namespace ptx2cpu::texture::PTX2CPU_LANES {

constexpr int32_t kLargestAxis = 1 << 20;  // so that positions, some images beyond the edges, fit

struct Axis {
  int32_t size;
  uint32_t mode;  // ptx2cpu_address_mode
  bool normalized;
};

// The places of two neighbours, and the weight of the second one in 1/256. Border texels have an index in
// range and a mask.
struct Neighbours {
  Ints index[2];
  Ints outside[2];
  Ints weight;
};

// The floor of numbers that fit an int.
PTX2CPU_INLINE Ints Floor(const Floats& x) {
  const Ints whole = Convert<Ints>(x);
  return whole + (Convert<Floats>(whole) > x);
}

// Subnormal numbers, NaN and numbers from `limit` on become 0.
PTX2CPU_INLINE Floats Cleaned(const Floats& x, uint32_t limit) {
  constexpr uint32_t kNormal = 0x00800000, kMagnitude = 0x7FFFFFFF;
  const Words magnitude = As<Words>(x) & kMagnitude;
  return (magnitude - kNormal) < Words{} + (limit - kNormal) ? x : Floats{};
}

// floor(x * 2^bits) of a coordinate that is kept within `least` and `most`, far enough outside of the image.
PTX2CPU_INLINE Ints FloorBetween(const Floats& x, float least, float most, int bits) {
  constexpr uint32_t kNan = 0x7F800001;
  const Floats kept = Least(Most(Cleaned(x, kNan), Each(least)), Each(most));
  return Floor(kept * static_cast<float>(1 << bits));
}

// The same for a coordinate that repeats with period 1 or 2, in the first period.
PTX2CPU_INLINE Ints FloorInPeriod(const Floats& x, int32_t period, int bits) {
  constexpr uint32_t k2To24 = 0x4B800000;  // from there on all are multiples of 2
  const Floats small = Cleaned(x, k2To24);
  const Floats rest =
      small - Convert<Floats>(Convert<Ints>(period == 1 ? small : small * 0.5f)) * static_cast<float>(period);
  return Floor(rest * static_cast<float>(1 << bits)) & ((period << bits) - 1);
}

// In 1/2^kBits of a texel, kBits being 0 or 8.
template <int kBits>
PTX2CPU_INLINE Ints Position(const Axis& axis, const Floats& x) {
  if (!axis.normalized) {
    const float beyond = 4, end = static_cast<float>(axis.size) + beyond;
    if (kBits == 0) return FloorBetween(x, -beyond, end, 0);
    return (FloorBetween(x, -beyond, end, kBits + 1) + 1) >> 1;
  }
  const int fraction = axis.size > 8192 ? 22 : 21;
  const Ints fixed = axis.mode == PTX2CPU_ADDRESS_WRAP     ? FloorInPeriod(x, 1, fraction)
                     : axis.mode == PTX2CPU_ADDRESS_MIRROR ? FloorInPeriod(x, 2, fraction)
                                                           : FloorBetween(x, -4, 4, fraction);
  const Longs scaled = Convert<Longs>(fixed) * static_cast<int64_t>(axis.size);
  if (kBits == 0) return Convert<Ints>(scaled >> fraction);
  return Convert<Ints>((scaled + (int64_t{1} << (fraction - kBits - 1))) >> (fraction - kBits));
}

// The texel of the axis; `outside` is set where it is the border.
PTX2CPU_INLINE Ints Resolve(const Axis& axis, Ints index, Ints& outside) {
  const Ints size = Each(axis.size), last = size - 1;
  outside = Ints{};
  switch (static_cast<ptx2cpu_address_mode>(axis.mode)) {
    case PTX2CPU_ADDRESS_WRAP:  // at most one texel away from the first period
      index = index < 0 ? index + size : index;
      return index >= size ? index - size : index;
    case PTX2CPU_ADDRESS_MIRROR:
      index = index < 0 ? index + 2 * size : index;
      index = index >= 2 * size ? index - 2 * size : index;
      return index < size ? index : 2 * size - 1 - index;
    case PTX2CPU_ADDRESS_BORDER:
      outside = (index < 0) | (index >= size);
      break;
    case PTX2CPU_ADDRESS_CLAMP:
      break;
  }
  return Least(Most(index, Ints{}), last);
}

PTX2CPU_INLINE Ints PointIndex(const Axis& axis, const Floats& x, Ints& outside) {
  return Resolve(axis, Position<0>(axis, x), outside);
}

// For the filter; tld4 reads the same two texels, except for positions before the first and after the last
// one.
PTX2CPU_INLINE Neighbours NeighboursOf(const Axis& axis, const Floats& x, bool gathers) {
  Ints position = Position<8>(axis, x) - 128;
  if (axis.mode == PTX2CPU_ADDRESS_CLAMP && !gathers)
    position = Least(Most(position, Ints{}), Each((axis.size - 1) * 256));
  Neighbours n;
  const Ints first = position >> 8;
  n.weight = position & 255;
  n.index[0] = Resolve(axis, first, n.outside[0]);
  n.index[1] = Resolve(axis, first + 1, n.outside[1]);
  if (gathers) return n;
  // At distance 0 the second one does not count.
  n.index[1] = n.weight != 0 ? n.index[1] : n.index[0];
  n.outside[1] = n.weight != 0 ? n.outside[1] : n.outside[0];
  return n;
}

}  // namespace ptx2cpu::texture::PTX2CPU_LANES
