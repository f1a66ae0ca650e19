// Accumulators of 16 rows and 8 columns in f32 or f16: their exponents, and the results that replace them.
#pragma once

#include "runtime/warp/matrix_exponents.h"
#include "runtime/warp/matrix_sums.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace ptx2cpu::rt::matrix {

struct Accumulator {
  F32x16 value;
  I32x16 exponent;
};

// The exponent of zero counts for that of the least number.
template <bool is_half>
inline Accumulator LoadAccumulator(const uint32_t* c, int group, int p, uint32_t stride) {
  if constexpr (is_half) {
    const U32x16 word = Group(c, group / 2, group % 2, stride),
                 magnitude = (p == 0 ? word << 16 : word & 0xffff0000u) << 1;
    const I32x16 exponent = __builtin_elementwise_max(Bits<I32x16>(magnitude >> 27), I32x16{} + 1) - 15;
    return {Value<Format::kF16, true>(word, p), Choose(magnitude == 0, I32x16{} - 126, exponent)};
  } else {
    const U32x16 bits = Group(c, group / 2 * kParities + p, group % 2, stride), field = bits << 1 >> 24;
    return {Bits<F32x16>(bits), __builtin_elementwise_max(Bits<I32x16>(field), I32x16{} + 1) - 127};
  }
}

template <bool is_half>
inline bool AreFinite(const uint32_t* c, uint32_t stride) {
  using U = Lanes<is_half ? Format::kF16 : Format::kTF32>::U;
  U highest{};
  for (int n = 0; n < (is_half ? 4 : 8); ++n)
    highest = __builtin_elementwise_max(highest, Bits<U>(Group(c, n / 2, n % 2, stride)) << 1);
  return __builtin_reduce_max(highest) < (is_half ? 0xf800u : 0xff000000u);
}

template <bool is_half>
inline void StoreResults(uint32_t* d, int group, const U32x16* results, uint32_t stride) {
  if constexpr (is_half) {
    PutGroup(d, group / 2, group % 2, results[0] | results[1] << 16, stride);
  } else {
    for (int p = 0; p < kParities; ++p) PutGroup(d, group / 2 * kParities + p, group % 2, results[p], stride);
  }
}

// (products + own) * 2^(largest - 25), cut toward zero to f32. `overflows`: negative where the sum does.
inline U32x16 CutSum(I32x16 products, I32x16 own, I32x16 largest, I32x16& overflows) {
#if defined(__AVX512F__)
  const auto sum = Bits<I32x16>(Bits<U32x16>(products) + Bits<U32x16>(own));
  overflows |= (sum ^ products) & (sum ^ own);
  const auto cut =
      Bits<F32x16>(_mm512_cvt_roundepi32_ps(Bits<__m512i>(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
  return Bits<U32x16>(cut * Bits<F32x16>(PowerOfTwo(largest - kBitsBelow)));
#else
  overflows |= I32x16{};
  return CutToF32<false>(Total(products, own, largest));
#endif
}

// The same to f16, rounded to nearest: first to odd in f32, which has enough bits more.
inline U32x16 RoundSum(I32x16 products, I32x16 own, I32x16 largest, I32x16& overflows) {
#if defined(__AVX512F__)
  const auto sum = Bits<I32x16>(Bits<U32x16>(products) + Bits<U32x16>(own));
  overflows |= (sum ^ products) & (sum ^ own);
  const __m512 cut = _mm512_cvt_roundepi32_ps(Bits<__m512i>(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __mmask16 is_cut = _mm512_cmpneq_epi32_mask(_mm512_cvttps_epi32(cut), Bits<__m512i>(sum));
  const __m512i bits = _mm512_castps_si512(cut);
  const auto odd = Bits<F32x16>(_mm512_mask_or_epi32(bits, is_cut, bits, _mm512_set1_epi32(1)));
  const F32x16 value = odd * Bits<F32x16>(PowerOfTwo(largest - kBitsBelow));
  const __m512i half = _mm512_cvtepu16_epi32(
      _mm512_cvtps_ph(Bits<__m512>(value), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  // Zero has no sign.
  return Bits<U32x16>(_mm512_maskz_mov_epi32(_mm512_test_epi32_mask(half, _mm512_set1_epi32(0x7fff)), half));
#else
  overflows |= I32x16{};
  return RoundToF16(Total(products, own, largest));
#endif
}

}  // namespace ptx2cpu::rt::matrix
