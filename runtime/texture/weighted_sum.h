// The weighted sum of texels that an H200's filter computes, bit for bit as recorded (tests/ptx/tex_*.gpu).
//
// Floats: the texels of a group (four of a plane) are aligned to the largest exponent among those that have a
// weight, keeping four bits below the last place of the format (f32 or f16) and dropping the rest. Decoded
// sRGB has seven bits, keeps no more, and its exponent is that of the value rounded to five (seen of the
// codes 187 and 254). Products with the 8-bit weights are summed exactly; sums of groups (of the planes of a
// volume, of levels) are cut to the unit of the group whose unit is largest, downward, and added; that is
// rounded to the format, ties away from zero. Subnormal f32 texels count as zero. Normalised integers: the
// sum rounded to a 16-bit integer, to nearest, ties upward; s8 is widened after the sum.
#pragma once

#include <limits.h>
#include <stdint.h>

namespace ptx2cpu::texture {

inline uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float FloatOf(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint64_t BitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
inline double DoubleOf(uint64_t bits) { return __builtin_bit_cast(double, bits); }

constexpr uint32_t kInfinity = 0x7F800000, kMagnitude = 0x7FFFFFFF;
constexpr int kWeightBits = 8, kWeightOne = 1 << kWeightBits;

// The form of texels in the filter; f16 values are kept as f32 bits, integers as their two's complement.
enum class FilterFormat : uint8_t { kFloat32, kFloat16, kSrgb, kUnsigned16, kSigned16, kSigned8 };

struct FloatFormat {
  int fraction_bits;      // of results
  int kept_bits;          // of texels, after the leading bit of the largest
  int smallest_exponent;  // of a normal number
  float largest;
  uint32_t nan;
  uint32_t half;  // what is added to the bits of a texel before they are its exponent
};
constexpr FloatFormat kFormat32 = {23, 27, -126, 0x1.fffffep127f, 0x7FFFFFFF, 0};
constexpr FloatFormat kFormat16 = {10, 14, -14, 65504.0f, 0x7FFFE000, 0},
                      kFormatSrgb = {10, 7, -14, 65504.0f, 0x7FFFE000, 1u << 17};

// 2^exponent, for the exponent of a normal double.
inline double PowerOfTwo(int exponent) { return DoubleOf(static_cast<uint64_t>(exponent + 1023) << 52); }

// Exponent of a float's magnitude, not below the format's smallest one.
inline int ExponentOf(const FloatFormat& format, uint32_t magnitude) {
  const int exponent = static_cast<int>((magnitude + format.half) >> 23) - 127;
  return exponent < format.smallest_exponent ? format.smallest_exponent : exponent;
}

// The sum of a group in 2^(unit - 8); it is exact.
inline int64_t GroupSum(const uint32_t* texels, const int* weights, int unit) {
  const double scale = PowerOfTwo(-unit);
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = (texels[i] & kMagnitude) < 0x00800000 ? 0 : texels[i];
    if (weights[i] != 0) sum += static_cast<int64_t>(static_cast<double>(FloatOf(bits)) * scale) * weights[i];
  }
  return sum;
}

// Rounds to the nearest number of the format, ties away from zero.
inline float RoundAway(const FloatFormat& format, double x) {
  const double magnitude = x < 0 ? -x : x;
  const int exponent = static_cast<int>(BitsOf(magnitude) >> 52) - 1023;
  const int unit =
      (exponent < format.smallest_exponent ? format.smallest_exponent : exponent) - format.fraction_bits;
  const double rounded =
      static_cast<double>(static_cast<int64_t>(magnitude * PowerOfTwo(-unit) + 0.5)) * PowerOfTwo(unit);
  if (rounded > format.largest) return FloatOf(kInfinity | (x < 0 ? 0x80000000 : 0));
  return static_cast<float>(x < 0 ? -rounded : rounded);
}

// The result where texels are infinite or NaN, also where their weight is rounded to 0.
inline uint32_t SpecialSum(const uint32_t* texels, int count, uint32_t nan) {
  bool positive = false, negative = false;
  for (int i = 0; i < count; ++i) {
    if ((texels[i] & kMagnitude) < kInfinity) continue;
    if ((texels[i] & kMagnitude) > kInfinity) return nan;
    (texels[i] >> 31 != 0 ? negative : positive) = true;
  }
  if (positive && negative) return nan;
  return negative ? 0x80000000 | kInfinity : kInfinity;
}

// The sum of texels in groups of four, at most four groups.
inline uint32_t FloatSum(const FloatFormat& format, const uint32_t* texels, const int* weights, int count) {
  int units[4], unit = INT_MIN;
  for (int first = 0; first < count; first += 4) {
    uint32_t largest = 0;  // the greatest magnitude with a weight
    for (int i = first; i < first + 4; ++i) {
      const uint32_t magnitude = texels[i] & kMagnitude;
      if (magnitude >= kInfinity) return SpecialSum(texels, count, format.nan);
      if (weights[i] != 0 && magnitude > largest) largest = magnitude;
    }
    units[first / 4] = ExponentOf(format, largest) - format.kept_bits;
    if (units[first / 4] > unit) unit = units[first / 4];
  }
  int64_t total = 0;
  for (int first = 0; first < count; first += 4) {
    const int away = unit - units[first / 4];
    total += GroupSum(texels + first, weights + first, units[first / 4]) >> (away < 63 ? away : 63);
  }
  const double sum = static_cast<double>(total) * PowerOfTwo(unit - kWeightBits);
  const uint32_t bits = BitsOf(RoundAway(format, sum));
  return (bits & kMagnitude) < 0x00800000 ? 0 : bits;
}

// The result for one f32 texel with the whole weight: itself, as FloatSum computes it.
inline uint32_t OnlyFloat(uint32_t texel) {
  const uint32_t magnitude = texel & kMagnitude;
  return magnitude > kInfinity ? kFormat32.nan : magnitude < 0x00800000 ? 0 : texel;
}

inline uint32_t IntegerSum(FilterFormat format, const uint32_t* texels, const int* weights, int count) {
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    if (weights[i] != 0) sum += int64_t{static_cast<int32_t>(texels[i])} * weights[i];
  }
  if (format == FilterFormat::kUnsigned16)
    return BitsOf(static_cast<float>((sum + kWeightOne / 2) >> kWeightBits) / 65535.0f);
  // 127 * 256 of s8 becomes 32767.
  const int64_t high = sum >> 4;
  int64_t value = format == FilterFormat::kSigned16 ? (sum + kWeightOne / 2) >> kWeightBits
                                                    : sum + ((high + (high >> 8) + 4) >> 3);
  constexpr int64_t kLargest = 32767;
  if (value < -kLargest) value = -kLargest;
  return BitsOf(static_cast<float>(value) / 32767.0f);
}

// Weights sum to 256; `count` is a multiple of 4.
inline uint32_t WeightedSum(FilterFormat format, const uint32_t* texels, const int* weights, int count) {
  switch (format) {
    case FilterFormat::kFloat32:
      return FloatSum(kFormat32, texels, weights, count);
    case FilterFormat::kFloat16:
      return FloatSum(kFormat16, texels, weights, count);
    case FilterFormat::kSrgb:
      return FloatSum(kFormatSrgb, texels, weights, count);
    case FilterFormat::kUnsigned16:
    case FilterFormat::kSigned16:
    case FilterFormat::kSigned8:
      break;
  }
  return IntegerSum(format, texels, weights, count);
}

// The weight is split along z, then x, then y, each time to a multiple of 1/256.
inline int Part(int whole, int weight) { return (whole * weight + kWeightOne / 2) >> kWeightBits; }

inline void SplitPlane(int whole, int x, int y, int* weights) {
  const int right = Part(whole, x), left = whole - right;
  weights[3] = Part(right, y);
  weights[1] = right - weights[3];
  weights[0] = Part(left, kWeightOne - y);
  weights[2] = left - weights[0];
}

}  // namespace ptx2cpu::texture
