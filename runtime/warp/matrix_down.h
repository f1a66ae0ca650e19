// Sums of products by multiply-adds of f64 that round down: one operation cuts a product and adds it.
//
// All terms of a sum are cut at one power of two, the unit. A sum that begins at 1.5 * 2^52 units holds whole
// units: adding p to it, rounded down, adds floor(p). Terms are cut toward zero, however. So B is multiplied
// by 1 + 2^-30 beforehand: a product has 22 significant bits at most and becomes larger by less than the
// least of them. The floor of a positive product stays what it was, and that of a negative one becomes one
// below the product cut toward zero, always. The number of negative products is added once; signs of A and B
// give it.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>

#include "runtime/warp/matrix_accumulators.h"
#include "runtime/warp/matrix_down_factors.h"
#include "runtime/warp/matrix_rounding.h"
#include "runtime/warp/matrix_short.h"

namespace ptx2cpu::rt::matrix {

// A constant of bytes that is loaded takes no shuffle.
constexpr uint32_t kHalfBits = 0x80808080;
PTX2CPU_INLINE inline __m512i Loaded(const uint32_t& word) {
  __m512i all;
  __asm__("vpbroadcastd %1, %0" : "=v"(all) : "m"(word));
  return all;
}

// The largest exponents of the products of each row and column.
template <Format format, int K>
struct LargestOfProducts {
  // Below those of all products, and of nearly all other sums.
  static constexpr int kLowest = format == Format::kF16 ? -100 : 2 * LeastExponent<format>();
  static constexpr int kBias = 127, kMantissa = 23;
  static constexpr int32_t kLowestByte = kLowest + kBias, kLowestField = kLowestByte << kMantissa;
  // For each row and half, a byte for each column, even and odd ones apart: for each of four rows of a group,
  // the columns of a register.
  __m512i most[kHalves];

  LargestOfProducts() {
    for (__m512i& m : most) m = _mm512_set1_epi8(kLowestByte);
  }
  // Adds the products of one k, for half of the rows.
  PTX2CPU_INLINE void Add(const DownA<format, K>& a, const DownB<format, K>& b, int q, int n, int h) {
    const auto columns = static_cast<long long>(b.exponents[q][ByteOfElement<format, K>(n)]);
    most[h] = _mm512_max_epu8(most[h], _mm512_subs_epu8(a.exponents[q][n][h], _mm512_set1_epi64(columns)));
    __asm__("" : "+v"(most[h]));  // now, not when registers are full of sums
  }
  // The sums of the groups 2 h and 2 h + 1 and columns of each parity, as fields of f32 with kHalfBit below.
  PTX2CPU_INLINE void Fields(int h, __m512i (*fields)[2]) const {
    const __m512i half = Loaded(kHalfBits), none = _mm512_setzero_si512();
    const __m512i of_groups[2] = {_mm512_srli_epi16(_mm512_unpacklo_epi8(half, most[h]), 1),
                                  _mm512_srli_epi16(_mm512_unpackhi_epi8(half, most[h]), 1)};
    for (int n = 0; n < 2; ++n) {
      fields[0][n] = _mm512_unpacklo_epi16(none, of_groups[n]);
      fields[1][n] = _mm512_unpackhi_epi16(none, of_groups[n]);
    }
  }
  bool AnyLowest() const {
    const __m512i lowest = _mm512_set1_epi8(kLowestByte);
    return (_mm512_cmpeq_epi8_mask(most[0], lowest) | _mm512_cmpeq_epi8_mask(most[1], lowest)) != 0;
  }
};

// sum += rows * column, rounded as the thread rounds.
PTX2CPU_INLINE inline void AddProducts(__m512d& sum, const __m512d& rows, const __m512d& column) {
  __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(rows), "v"(column));
}

// The upper words of f64, from the odd words three bits higher.
PTX2CPU_INLINE inline __m512i OddToUpper(__m512i words) {
  __m512i upper;
  __asm__("vpsrld $3, %1, %0 %{%2%} %{z%}" : "=v"(upper) : "v"(words), "Yk"(static_cast<__mmask16>(0xaaaa)));
  return upper;
}

// The sums of a product. Exponents are fields of f32, with kHalfBit.
template <Format format, int K, bool may_overflow>
struct DownSums {
  using OfA = DownA<format, K>;
  using OfB = DownB<format, K>;
  using Largest = LargestOfProducts<format, K>;
  static constexpr int kBias = 127, kMantissa = 23;
  static constexpr int32_t kHalfBit = 1 << (kMantissa - 1);  // of 1.5 * 2^52

  __m512d of[kParities][kQuads][kHalves];  // of products, eight rows of a column
  I32x16 fields[kParities][kGroups];       // that terms are cut at
  I32x16 highest;                          // of the accumulators' exponents or those of products

  // Half of the rows.
  template <int h>
  PTX2CPU_INLINE void Begin(const Largest& largest, const uint32_t* c, uint32_t stride) {
    __m512i both[kParities][2];
    largest.Fields(h, both);
#pragma clang loop unroll(full)
    for (int p = 0; p < kParities; ++p) {
#pragma clang loop unroll(full)
      for (int n = 0; n < 2; ++n) {
        const auto own =
            Bits<I32x16>((Group(c, h * kParities + p, n, stride) & (0xffu << kMantissa)) | kHalfBit);
        const I32x16 field = __builtin_elementwise_max(Bits<I32x16>(both[p][n]), own);
        highest = h + p + n == 0 ? field : __builtin_elementwise_max(highest, field);
        fields[p][2 * h + n] = field;
        both[p][n] = Bits<__m512i>(field);
      }
      auto put = [&](int q, __m512i words) PTX2CPU_INLINE {
        of[p][q][h] = _mm512_castsi512_pd(_mm512_slli_epi64(words, 32 - 3));
        of[p][q + 1][h] = _mm512_castsi512_pd(OddToUpper(words));
      };
      put(0, _mm512_unpacklo_epi64(both[p][0], both[p][1]));
      put(2, _mm512_unpackhi_epi64(both[p][0], both[p][1]));
    }
  }
  // The products of one k.
  PTX2CPU_INLINE void Add(const OfA& a, const OfB& b, int q, int n) {
    const auto* of_b = reinterpret_cast<const double*>(&b.values[q][n]);
#pragma clang loop unroll(full)
    for (int column = 0; column < kColumns; ++column) {
      const __m512d one = _mm512_set1_pd(of_b[column]);
#pragma clang loop unroll(full)
      for (int h = 0; h < kHalves; ++h)
        AddProducts(of[column / kQuads][column % kQuads][h], a.values[q][n][h], one);
    }
  }
  template <int h, int p>
  PTX2CPU_INLINE void End(const OfA& a, const OfB& b, const uint32_t* c, uint32_t stride, uint32_t* d,
                          uint32_t d_stride) const {
    auto joined = [&](int q) PTX2CPU_INLINE {
      return _mm512_castps_pd(
          _mm512_mask_moveldup_ps(_mm512_castpd_ps(of[p][q][h]), 0xaaaa, _mm512_castpd_ps(of[p][q + 1][h])));
    };
    const __m512d first = joined(0), second = joined(2);
    const I32x16 products[2] = {Bits<I32x16>(_mm512_unpacklo_pd(first, second)),
                                Bits<I32x16>(_mm512_unpackhi_pd(first, second))};
    I32x16 others[2], overflows{};
    U32x16 results[2];
#pragma clang loop unroll(full)
    for (int n = 0; n < 2; ++n) {
      const int g = 2 * h + n;
      constexpr uint32_t kInverse = ((2u * kBias + kBitsBelow) << kMantissa) + kHalfBit;
      const auto scale = Bits<F32x16>(kInverse - Bits<U32x16>(fields[p][g]));
      const F32x16 value = Bits<F32x16>(Group(c, h * kParities + p, n, stride));
      // The accumulator cut, and the number of negative products.
      others[n] = Bits<I32x16>(_mm512_cvttps_epi32(Bits<__m512>(value * scale))) +
                  Bits<I32x16>(_mm512_popcnt_epi32(Bits<__m512i>(a.signs[g] & b.signs[p])));
      results[n] = Result(products[n], others[n], fields[p][g], overflows);
    }
    if (may_overflow && _mm512_movepi32_mask(Bits<__m512i>(overflows)) != 0) [[unlikely]] {
#pragma clang loop unroll(full)
      for (int n = 0; n < 2; ++n) results[n] = LongResult(products[n], others[n], fields[p][2 * h + n]);
    }
#pragma clang loop unroll(full)
    for (int n = 0; n < 2; ++n) PutGroup(d, h * kParities + p, n, results[n], d_stride);
  }

 private:
  PTX2CPU_INLINE static U32x16 Result(I32x16 products, I32x16 others, I32x16 field, I32x16& overflows) {
    const auto sum = Bits<I32x16>(Bits<U32x16>(products) + Bits<U32x16>(others));
    if constexpr (may_overflow) overflows |= (sum ^ products) & (sum ^ others);
    const auto cut =
        Bits<F32x16>(_mm512_cvt_roundepi32_ps(Bits<__m512i>(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    // Exact: what would become infinite has products that are not of this kind.
    return Bits<U32x16>(cut * Bits<F32x16>(field - ((kBitsBelow << kMantissa) + kHalfBit)));
  }
  __attribute__((noinline, cold)) static U32x16 LongResult(I32x16 products, I32x16 others, I32x16 field) {
    return CutToF32<false>(Total(products, others, (field >> kMantissa) - kBias));
  }
};

// Whether no accumulator but zero has a smaller exponent than all products may have.
template <Format format, int K>
__attribute__((noinline, cold)) bool HasNoLower(const uint32_t* c, uint32_t stride) {
  constexpr uint32_t kLowestBits = LargestOfProducts<format, K>::kLowestField;
  U32x16 lower{};
  for (int n = 0; n < kGroups * kParities; ++n) {
    const U32x16 magnitude = Group(c, n / 2, n % 2, stride) & 0x7fffffffu;
    lower |= Bits<U32x16>(magnitude < kLowestBits) & magnitude;
  }
  return __builtin_reduce_or(lower) == 0;
}
// Whether the accumulators are of this kind.
template <Format format, int K>
PTX2CPU_INLINE inline bool AreInRange(const LargestOfProducts<format, K>& largest, I32x16 highest,
                                      const uint32_t* c, uint32_t stride) {
  constexpr int32_t kInfinite = 0xff << LargestOfProducts<format, K>::kMantissa;
  if (_mm512_cmpge_epi32_mask(Bits<__m512i>(highest), _mm512_set1_epi32(kInfinite)) != 0) [[unlikely]]
    return false;
  if (largest.AnyLowest()) [[unlikely]]
    return HasNoLower<format, K>(c, stride);
  return true;
}

// The sums of all rows and columns fill 16 registers: fewer chains of additions would leave a processor idle
// that begins two a cycle and ends them after four. Meanwhile the largest exponents of the next product are
// found. A bit of the result for each product that is not of this kind.
template <Format format, int K, bool may_overflow, typename Factors>
__attribute__((noinline)) uint64_t MultiplyRounded(const Factors* products, uint32_t count, uint32_t stride) {
  using Largest = LargestOfProducts<format, K>;
  constexpr int kCount = kOfQuad<format, K>;
  alignas(64) uint32_t nowhere[4 * kRegister];
  uint64_t left = 0;
  Largest largest;
#pragma clang loop unroll(disable)
  for (int q = 0; q < kQuads; ++q) {
    for (int k = 0; k < kCount; ++k) {
      for (int h = 0; h < kHalves; ++h) largest.Add(products->a->down, products->b->down, q, k, h);
    }
  }
  DownSums<format, K, may_overflow> sums;
  sums.template Begin<0>(largest, products->sums, stride);
  sums.template Begin<1>(largest, products->sums, stride);
#pragma clang loop unroll(disable)
  for (uint32_t n = 0; n < count; ++n) {
    const Factors now = products[n], next = products[n + 1 < count ? n + 1 : n];
    const auto &a = now.a->down, &next_a = next.a->down;
    const auto &b = now.b->down, &next_b = next.b->down;
    Largest after;
#pragma clang loop unroll(disable)
    for (int q = 0; q < kQuads; ++q) {
#pragma clang loop unroll(full)
      for (int k = 0; k < kCount; ++k) {
        sums.Add(a, b, q, k);
        for (int h = 0; h < kHalves; ++h) after.Add(next_a, next_b, q, k, h);
      }
    }
    uint32_t *d = now.sums, d_stride = stride;
    if (!AreInRange<format, K>(largest, sums.highest, now.sums, stride)) [[unlikely]] {
      d = nowhere;
      d_stride = kRegister;
      left |= uint64_t{1} << n;
    }
    largest = after;
    sums.template End<0, 0>(a, b, now.sums, stride, d, d_stride);
    sums.template End<0, 1>(a, b, now.sums, stride, d, d_stride);
    sums.template Begin<0>(largest, next.sums, stride);
    sums.template End<1, 0>(a, b, now.sums, stride, d, d_stride);
    sums.template End<1, 1>(a, b, now.sums, stride, d, d_stride);
    sums.template Begin<1>(largest, next.sums, stride);
  }
  return left;
}
template <Format format, int K, typename Factors>
PTX2CPU_INLINE inline uint64_t MultiplyRounded(const Factors* products, uint32_t count, uint32_t stride) {
  bool may_overflow = false;
  for (uint32_t n = 0; n < count; ++n) may_overflow |= products[n].b->down.may_overflow;
  if constexpr (K >= 16) {
    if (may_overflow) [[unlikely]]
      return MultiplyRounded<format, K, true>(products, count, stride);
  }
  return MultiplyRounded<format, K, false>(products, count, stride);
}

}  // namespace ptx2cpu::rt::matrix
#endif
