// The filter's sums for 32 lanes: the rules of ../weighted_sum.h.
#pragma once

#include "runtime/texture/lanes/vectors.h"
#include "runtime/texture/weighted_sum.h"

namespace ptx2cpu::texture::PTX2CPU_LANES {

// Texels of one channel with their weights, in one or two groups of `count`.
struct Samples {
  Words value[8];
  Ints weight[8];
  int groups, count;
};

// 2^exponent, for exponents of normal doubles.
PTX2CPU_INLINE Doubles TwoTo(const Longs& exponent) {
  const Longs bits = (exponent + 1023) << 52;
  return As<Doubles>(bits);
}

PTX2CPU_INLINE Words MagnitudeOf(const Words& bits) { return bits & kMagnitude; }

// The sum of a group, in whole numbers of 2^(unit - 8).
struct GroupOfLanes {
  Doubles sum;
  Longs unit;
};
PTX2CPU_INLINE GroupOfLanes GroupSum(const FloatFormat& format, const Words* values, const Ints* weights,
                                     int count) {
  Words largest{};
  for (int i = 0; i < count; ++i) largest = Most(largest, weights[i] != 0 ? MagnitudeOf(values[i]) : Words{});
  const Ints exponent = Most((As<Ints>(largest) >> 23) - 127, Each(format.smallest_exponent));
  const Longs unit = Convert<Longs>(exponent - format.kept_bits);
  const Doubles scale = TwoTo(-unit);
  Doubles sum{};
  for (int i = 0; i < count; ++i) {
    // A texel without weight may be too large for an integer.
    const Ints counts = (MagnitudeOf(values[i]) >= 0x00800000u) & (weights[i] != 0);
    const Words bits = counts ? values[i] : Words{};
    const Ints whole = Convert<Ints>(Convert<Doubles>(As<Floats>(bits)) * scale);
    sum += Convert<Doubles>(whole) * Convert<Doubles>(weights[i]);
  }
  return {sum, unit};
}

// Down to whole numbers, below 2^62.
PTX2CPU_INLINE Doubles Floor(const Doubles& x) {
  const Longs whole = Convert<Longs>(x);
  return Convert<Doubles>(whole + (Convert<Doubles>(whole) > x));
}

PTX2CPU_INLINE Words RoundAway(const FloatFormat& format, const Doubles& x) {
  const Longs bits = As<Longs>(x) & INT64_MAX;
  const Doubles magnitude = As<Doubles>(bits);
  const Longs unit = Most((bits >> 52) - 1023, Longs{} + static_cast<int64_t>(format.smallest_exponent)) -
                     format.fraction_bits;
  const Doubles rounded = Convert<Doubles>(Convert<Ints>(magnitude * TwoTo(-unit) + 0.5)) * TwoTo(unit);
  const Floats finite = Convert<Floats>(rounded);
  const Words sign = Convert<Words>(As<Longs>(x) < 0) & 0x80000000u;
  const Words result = finite > format.largest ? Words{} + kInfinity : As<Words>(finite);
  return result < 0x00800000u ? Words{} : result | sign;
}

// Lanes with infinities or NaN are not computed here but reported in `special`.
PTX2CPU_INLINE Words FloatSum(const FloatFormat& format, const Samples& s, Ints& special) {
  for (int i = 0; i < s.groups * s.count; ++i) special |= MagnitudeOf(s.value[i]) >= kInfinity;
  const GroupOfLanes first = GroupSum(format, s.value, s.weight, s.count);
  if (s.groups == 1) return RoundAway(format, first.sum * TwoTo(first.unit - kWeightBits));
  const GroupOfLanes second = GroupSum(format, s.value + s.count, s.weight + s.count, s.count);
  const Longs unit = Most(first.unit, second.unit);
  const Doubles total =
      Floor(first.sum * TwoTo(first.unit - unit)) + Floor(second.sum * TwoTo(second.unit - unit));
  return RoundAway(format, total * TwoTo(unit - kWeightBits));
}

// The result for one texel: itself, as the sum above would compute it.
PTX2CPU_INLINE Words OnlyFloat(const Words& value) {
  const Words magnitude = MagnitudeOf(value);
  const Words number = magnitude < 0x00800000u ? Words{} : value;
  return magnitude > kInfinity ? Words{} + kFormat32.nan : number;
}

PTX2CPU_INLINE Words IntegerSum(FilterFormat format, const Samples& s) {
  Ints sum{};
  for (int i = 0; i < s.groups * s.count; ++i) sum += As<Ints>(s.value[i]) * s.weight[i];
  Floats result;
  if (format == FilterFormat::kUnsigned16) {
    result = Convert<Floats>((sum + kWeightOne / 2) >> kWeightBits) / 65535.0f;
  } else {
    const Ints high = sum >> 4;
    const Ints value = format == FilterFormat::kSigned16 ? (sum + kWeightOne / 2) >> kWeightBits
                                                         : sum + ((high + (high >> 8) + 4) >> 3);
    result = Convert<Floats>(Most(value, Each(-32767))) / 32767.0f;
  }
  return As<Words>(result);
}

PTX2CPU_INLINE Words WeightedSum(FilterFormat format, const Samples& s, Ints& special) {
  switch (format) {
    case FilterFormat::kFloat32:
      if (s.groups * s.count == 1) return OnlyFloat(s.value[0]);
      return FloatSum(kFormat32, s, special);
    case FilterFormat::kFloat16:
      return FloatSum(kFormat16, s, special);
    case FilterFormat::kSrgb:
      return FloatSum(kFormatSrgb, s, special);
    case FilterFormat::kUnsigned16:
    case FilterFormat::kSigned16:
    case FilterFormat::kSigned8:
      break;
  }
  return IntegerSum(format, s);
}

}  // namespace ptx2cpu::texture::PTX2CPU_LANES
