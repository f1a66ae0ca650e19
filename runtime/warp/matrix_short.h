// Products of few significant bits: where all terms of a sum are multiples of one power of two, and together
// below 2^24 of it, f32 holds every partial sum. Nothing is cut then, and the sum is a chain of
// multiply-adds.
//
// Integers in f16 and bf16 are like that, and what quantised weights become.
#pragma once

#include "runtime/warp/matrix_decode.h"
#include "runtime/warp/matrix_sums.h"

namespace ptx2cpu::rt::matrix {

constexpr int kBitsOfF32 = 24;

// The powers of two that bound the elements of a fragment: all are multiples of 2^lowest and below 2^above.
struct Extent {
  int lowest, above;
};
constexpr int kNoLowest = -1000;  // not known: too many bits

// Whether `count` vectors of numbers below 2^above need no more than kMaxBits bits. A sum with 1.5 * 2^23
// units is a whole number of units; for most fragments, a few vectors show that their numbers are longer.
template <typename Value>
PTX2CPU_INLINE inline Extent ExtentOf(Value value, int count, int above) {
  constexpr int kMaxBits = 14, kSample = 4;
  const int unit = above - kMaxBits;
  const auto shift = Bits<F32x16>(PowerOfTwo(I32x16{} + (unit + kBitsOfF32 - 1)) | 0x400000);
  U32x16 differs{}, units{};
  auto add = [&](int n) PTX2CPU_INLINE {
    const F32x16 one = value(n), sum = one + shift;
    units |= Bits<U32x16>(sum);
    differs |= Bits<U32x16>(sum - shift - one) << 1;
  };
  const int sample = count < kSample ? count : kSample;
  for (int n = 0; n < sample; ++n) add(n);
  if (__builtin_reduce_or(differs) != 0) return {kNoLowest, above};
  for (int n = sample; n < count; ++n) add(n);
  if (__builtin_reduce_or(differs) != 0) return {kNoLowest, above};
  return {unit + __builtin_ctz(__builtin_reduce_or(units) | 1u << kMaxBits), above};
}

constexpr int BitsOf(int count) { return count <= 1 ? 0 : 1 + BitsOf(count / 2); }

// Accumulators of 16 rows and 8 columns as f32: groups of four rows, even and odd columns.
template <bool is_half>
inline F32x16 AccumulatorInF32(const uint32_t* c, int group, int p, uint32_t stride) {
  if constexpr (is_half) return Value<Format::kF16, false>(Group(c, group / 2, group % 2, stride), p);
  return Bits<F32x16>(Group(c, group / 2 * kParities + p, group % 2, stride));
}

// The sums of `depth` products are multiples of 2^lowest and below 2^(lowest + bits).
struct ShortSums {
  int lowest, bits;
};
inline ShortSums ShortSumsOf(Extent a, Extent b, int depth) {
  const int sum = a.lowest + b.lowest, lowest = sum < 0 ? sum : 0;
  return {lowest, a.above + b.above - lowest + BitsOf(depth)};
}
// Whether f32 holds all partial sums of them, whatever the accumulator is.
template <bool is_half>
inline bool MayBeShort(Extent a, Extent b, int depth) {
  const ShortSums sums = ShortSumsOf(a, b, depth);
  // A subnormal accumulator of f16 counts as one of the least exponent, and cuts what is far below it.
  constexpr int kLeastOfF16 = -14;
  return sums.bits < kBitsOfF32 && !(is_half && sums.lowest < kLeastOfF16 - kBitsBelow);
}

// The same, including the accumulators.
template <bool is_half>
inline bool IsShort(Extent a, Extent b, int depth, const uint32_t* c, uint32_t stride) {
#pragma STDC FP_CONTRACT ON
  if (!MayBeShort<is_half>(a, b, depth)) return false;
  const auto [lowest, bits] = ShortSumsOf(a, b, depth);
  const float scale = __builtin_bit_cast(float, PowerOfTwo(-lowest));
  U32x16 differs{}, most{};
  for (int group = 0; group < kGroups; ++group) {
    for (int p = 0; p < kParities; ++p) {
      const F32x16 scaled = AccumulatorInF32<is_half>(c, group, p, stride) * scale + 0.0f;
      const auto whole = __builtin_convertvector(__builtin_convertvector(scaled, I32x16), F32x16);
      differs |= Bits<U32x16>(whole) ^ Bits<U32x16>(scaled);
      most = __builtin_elementwise_max(most, Bits<U32x16>(scaled) << 1);
    }
  }
  // Infinities and NaN are above all others.
  const auto room = static_cast<float>((1 << kBitsOfF32) - (1 << (bits < 0 ? 0 : bits)));
  const auto exceeds = Bits<U32x16>(most > (__builtin_bit_cast(uint32_t, room) << 1));
  return __builtin_reduce_or(differs | exceeds) == 0;
}

}  // namespace ptx2cpu::rt::matrix
