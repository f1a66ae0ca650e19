// The weighted sum of texels that an H200's filter computes, bit for bit as recorded (tests/ptx/tex_*.gpu):
// Texels are aligned to the largest exponent among those of a group (four texels of a plane) that have a weight, keeping
// four bits below the last place and dropping the rest; products with the 8-bit weights are summed exactly; the sum is
// rounded to nearest, ties away from zero. Subnormal texels count as zero.
#pragma once

#include <stdint.h>

namespace ptx2cpu::texture {

inline uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float FloatOf(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint64_t BitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
inline double DoubleOf(uint64_t bits) { return __builtin_bit_cast(double, bits); }

constexpr uint32_t kNan = 0x7FFFFFFF, kInfinity = 0x7F800000, kMagnitude = 0x7FFFFFFF;
constexpr int kWeightBits = 8, kWeightOne = 1 << kWeightBits;

// To the nearest float, ties away from zero; |x| is zero or a normal float, up to rounding.
inline float RoundAway(double x) {
  constexpr uint64_t kHalf = uint64_t{1} << 28, kDropped = (uint64_t{1} << 29) - 1;
  return static_cast<float>(DoubleOf((BitsOf(x) + kHalf) & ~kDropped));
}

// 2^exponent, of a normal double.
inline double PowerOfTwo(int exponent) { return DoubleOf(static_cast<uint64_t>(exponent + 1023) << 52); }

// Of a group: exact, in a double. `largest` is the greatest magnitude with a weight, finite and normal.
inline double GroupSum(const uint32_t* texels, const int* weights, int count, uint32_t largest) {
  // One unit is 2^-4 of the last place of the largest texel.
  const int unit = static_cast<int>(largest >> 23) - 150 - 4;
  const double scale = PowerOfTwo(-unit);
  int64_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const uint32_t bits = (texels[i] & kMagnitude) < 0x00800000 ? 0 : texels[i];
    if (weights[i] != 0) sum += static_cast<int64_t>(static_cast<double>(FloatOf(bits)) * scale) * weights[i];
  }
  return static_cast<double>(sum) * PowerOfTwo(unit - kWeightBits);
}

// Infinities and NaN among texels that have a weight.
inline uint32_t SpecialSum(const uint32_t* texels, const int* weights, int count) {
  bool positive = false, negative = false;
  for (int i = 0; i < count; ++i) {
    if (weights[i] == 0 || (texels[i] & kMagnitude) < kInfinity) continue;
    if ((texels[i] & kMagnitude) > kInfinity) return kNan;
    (texels[i] >> 31 != 0 ? negative : positive) = true;
  }
  if (positive && negative) return kNan;
  return negative ? 0x80000000 | kInfinity : kInfinity;
}

// `count` is 1, 2, 4 or 8; eight are two groups.
inline uint32_t WeightedSum(const uint32_t* texels, const int* weights, int count) {
  double total = 0;
  for (int first = 0; first < count; first += 4) {
    const int size = count < 4 ? count : 4;
    uint32_t largest = 0;
    for (int i = first; i < first + size; ++i) {
      const uint32_t magnitude = texels[i] & kMagnitude;
      if (weights[i] != 0 && magnitude > largest) largest = magnitude;
    }
    if (largest >= kInfinity) return SpecialSum(texels, weights, count);
    if (largest >= 0x00800000) total += GroupSum(texels + first, weights + first, size, largest);
  }
  const uint32_t bits = BitsOf(RoundAway(total));
  return (bits & kMagnitude) < 0x00800000 ? 0 : bits;
}

}  // namespace ptx2cpu::texture
