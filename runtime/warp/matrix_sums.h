// From sums in units of 2^(largest exponent - 25) to f32, cut toward zero, and to f16, rounded to nearest.
#pragma once

#include "runtime/warp/matrix_vectors.h"

namespace ptx2cpu::rt::matrix {

constexpr int kBitsBelow = 25;

template <typename I>
inline I PowerOfTwo(I exponent) {
  return (exponent + 127) << 23;
}
// The sum of both as f64, which is exact, in units of 2^(largest - 25).
inline F64x16 Total(I32x16 products, I32x16 accumulator, I32x16 largest) {
  const I64x16 scale = (__builtin_convertvector(largest - kBitsBelow, I64x16) + 1023) << 52;
  return (__builtin_convertvector(products, F64x16) + __builtin_convertvector(accumulator, F64x16)) *
         Bits<F64x16>(scale);
}

constexpr uint64_t kCutBits = (uint64_t{1} << 29) - 1;  // of f64, below the last bit of f32

// Toward zero. Subnormal results are multiples of 2^-149, whose number is their bits.
template <bool may_be_subnormal>
inline U32x16 CutToF32(F64x16 value) {
  const auto kept = Bits<F64x16>(Bits<U64x16>(value) & ~kCutBits);
  const auto bits = Bits<U32x16>(__builtin_convertvector(kept, F32x16));
  if constexpr (!may_be_subnormal) return bits;
  const auto magnitude = Bits<F64x16>(Bits<U64x16>(value) & ~(uint64_t{1} << 63));
  const I64x16 is_small = magnitude < 0x1p-126;
  const auto counted = Bits<F64x16>(Bits<I64x16>(value * 0x1p149) & is_small);
  const auto count = __builtin_convertvector(counted, I32x16);
  const I32x16 negative = count < 0;
  const auto small_bits = Bits<U32x16>(((count ^ negative) - negative) | (negative & INT32_MIN));
  return Choose(__builtin_convertvector(is_small, I32x16), small_bits, bits);
}

// The bits of f32 without a sign, of a number: in f16, to nearest, ties to even.
inline U32x16 MagnitudeInF16(U32x16 magnitude) {
  const U32x16 normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
  const U32x16 subnormal = Bits<U32x16>(Bits<F32x16>(magnitude) + 0.5f) - 0x3f000000u;
  const U32x16 result = Choose(magnitude < 0x38800000u, subnormal, normal);
  return Choose(magnitude >= 0x477ff000u, U32x16{} + 0x7c00u, result);
}

// To nearest, ties to even: first to odd in f32, which has enough bits more. Zero has no sign.
inline U32x16 RoundToF16(F64x16 value) {
  const auto bits = Bits<U64x16>(value);
  const U64x16 sticky = Bits<U64x16>((bits & kCutBits) != 0) & (uint64_t{1} << 29);
  const auto odd = Bits<U32x16>(__builtin_convertvector(Bits<F64x16>((bits & ~kCutBits) | sticky), F32x16));
  const U32x16 sign = odd & 0x80000000u, result = MagnitudeInF16(odd ^ sign);
  return Choose(result == 0, U32x16{}, result | sign >> 16);
}

}  // namespace ptx2cpu::rt::matrix
