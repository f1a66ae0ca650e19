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
#include "runtime/warp/matrix_rounding.h"
#include "runtime/warp/matrix_short.h"

namespace ptx2cpu::rt::matrix {

constexpr int kHalves = 2;  // of the rows of A: eight in a vector of f64, in the order 0 4 1 5 2 6 3 7
constexpr int kColumns = 8;

// Elements of a quad's word, and words along k.
template <Format format, int K>
constexpr int kOfQuad = TilesOf(format, K) * PlanesOf(format);
// Where the exponent of the nth of them is in a word of Bytes (matrix_exponents.h).
template <Format format, int K>
constexpr int ByteOfElement(int n) {
  return TilesOf(format, K) == 1 ? 2 * n : n;
}

// Of the words of four rows, the signs of each row in all its words: eight bits of a half word for the
// elements that are below zero if `first_negative`, and eight for those above; else the other way round.
template <Format format, int K, bool first_negative>
inline U32x16 SignsOf(const U32x16* words) {
  using U = Lanes<format>::U;
  using I = Lanes<format>::I;
  U all{};
  for (int tile = 0; tile < TilesOf(format, K); ++tile) {
    U word = Bits<U>(words[tile]);
    if constexpr (format == Format::kTF32) word &= 0xffffe000u;
    const U negative = Bits<U>(Bits<I>(word) < 0), is_zero = Bits<U>((word << 1) == 0);
    constexpr typename Lanes<format>::Element kAbove = first_negative ? 0x100 : 1;
    all |= (((negative & 0x101) ^ kAbove) & ~is_zero) << tile;
  }
  const U32x16 shift = {0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6};
  __m512i signs = Bits<__m512i>(Bits<U32x16>(all) << shift);
  signs = _mm512_or_si512(signs, _mm512_shuffle_epi32(signs, _MM_PERM_BADC));
  return Bits<U32x16>(_mm512_or_si512(signs, _mm512_shuffle_epi32(signs, _MM_PERM_CDAB)));
}

// What sums of this kind need of A, beyond the exponents in the words of matrix_exponents.h.
template <Format format, int K>
struct DownA {
  static constexpr int kCount = kOfQuad<format, K>;
  __m512d values[kQuads][kCount][kHalves];
  __m512i exponents[kQuads][kCount][kHalves];  // a byte for each row and quad, twice for each four rows
  U32x16 signs[kGroups];

  void Prepare(const uint32_t* fragment, const U32x16* words) {
    for (int h = 0; h < kHalves; ++h)
      PrepareWords(h, Bits<__m512i>(words[2 * h]), Bits<__m512i>(words[2 * h + 1]));
    for (int tile = 0; tile < TilesOf(format, K); ++tile) {
      U32x16 of_rows[kGroups];
      for (int g = 0; g < kGroups; ++g) of_rows[g] = Group(fragment, tile * 2 + g / 2, g % 2);
      for (int plane = 0; plane < PlanesOf(format); ++plane)
        PrepareValues(tile * PlanesOf(format) + plane, of_rows, plane);
    }
    for (int g = 0; g < kGroups; ++g) {
      U32x16 of_tiles[TilesOf(format, K)];
      for (int tile = 0; tile < TilesOf(format, K); ++tile)
        of_tiles[tile] = Group(fragment, tile * 2 + g / 2, g % 2);
      signs[g] = SignsOf<format, K, true>(of_tiles);
    }
  }

 private:
  PTX2CPU_INLINE void PrepareValues(int n, const U32x16* of_rows, int plane) {
    __m512 rows[kGroups];
    for (int g = 0; g < kGroups; ++g) rows[g] = Bits<__m512>(Value<format, true>(of_rows[g], plane));
    const __m512i apart = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (int h = 0; h < kHalves; ++h) {
      auto put = [&](int q, __m512 pairs) PTX2CPU_INLINE {
        const __m512d both = _mm512_permutexvar_pd(apart, _mm512_castps_pd(pairs));
        values[q][n][h] = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_castpd512_pd256(both)));
        values[q + 1][n][h] = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(both, 1)));
      };
      put(0, _mm512_unpacklo_ps(rows[2 * h], rows[2 * h + 1]));
      put(2, _mm512_unpackhi_ps(rows[2 * h], rows[2 * h + 1]));
    }
  }
  PTX2CPU_INLINE void PrepareWords(int h, __m512i first, __m512i second) {
    const __m512i by_word = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i low = _mm512_permutexvar_epi32(by_word, first),
                  high = _mm512_permutexvar_epi32(by_word, second);
    ForQuarters([&]<int q>() PTX2CPU_INLINE {
      const __m512i rows = _mm512_shuffle_i32x4(low, high, q * 0x55);
      for (int n = 0; n < kCount; ++n) {
        const __m128i spread = _mm_add_epi8(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12),
                                            _mm_set1_epi8(static_cast<char>(ByteOfElement<format, K>(n))));
        exponents[q][n][h] = _mm512_shuffle_epi8(rows, _mm512_broadcast_i32x4(spread));
      }
    });
  }
};

// Of B: for each k the columns 0 2 4 6 1 3 5 7.
template <Format format, int K>
struct DownB {
  static constexpr int kCount = kOfQuad<format, K>;
  __m512d values[kQuads][kCount];
  __m512i exponents[kQuads][kCount];  // as A's, for all rows
  U32x16 signs[kParities];            // of even and odd columns, for each of four rows

  void Prepare(const uint32_t* fragment, const Columns& bytes) {
    const __m512d more = _mm512_set1_pd(1 + 0x1p-30);
    for (int n = 0; n < kCount; ++n) {
      auto word = [&](int g) PTX2CPU_INLINE {
        return Bits<U32x16>(
            Value<format, true>(Group(fragment, n / PlanesOf(format), g), n % PlanesOf(format)));
      };
      Columns columns;
      columns.Put(word(0), word(1));
      for (int q = 0; q < kQuads; ++q) {
        const __m256 value = _mm256_loadu_ps(reinterpret_cast<const float*>(columns.words[q]));
        values[q][n] = _mm512_mul_pd(_mm512_cvtps_pd(value), more);
      }
    }
    for (int q = 0; q < kQuads; q += 2) {
      const __m512i words = _mm512_loadu_si512(bytes.words[q]);
      for (int n = 0; n < kCount; ++n) {
        const __m128i column = _mm_add_epi8(_mm_setr_epi8(0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12),
                                            _mm_set1_epi8(static_cast<char>(ByteOfElement<format, K>(n))));
        const __m512i both = _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(column));
        exponents[q][n] = _mm512_shuffle_i64x2(both, both, 0x44);
        exponents[q + 1][n] = _mm512_shuffle_i64x2(both, both, 0xee);
      }
    }
    __m512i of_columns[2];
    for (int g = 0; g < 2; ++g) {
      U32x16 words[TilesOf(format, K)];
      for (int tile = 0; tile < TilesOf(format, K); ++tile) words[tile] = Group(fragment, tile, g);
      of_columns[g] = Bits<__m512i>(SignsOf<format, K, false>(words));
    }
    for (int p = 0; p < kParities; ++p) {
      const __m512i column =
          _mm512_add_epi32(_mm512_setr_epi32(0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24, 0, 8, 16, 24),
                           _mm512_set1_epi32(4 * p));
      signs[p] = Bits<U32x16>(_mm512_permutex2var_epi32(of_columns[0], column, of_columns[1]));
    }
  }
};

// The largest exponents of the products of each row and column.
template <Format format, int K>
struct LargestOfProducts {
  // Below those of all products, and of nearly all other sums.
  static constexpr int kLowest = format == Format::kF16 ? -100 : 2 * LeastExponent<format>();
  static constexpr int kBias = 127, kMantissa = 23;
  __m512i most[kHalves];  // a byte for each, by groups of four rows, even and odd columns

  LargestOfProducts() {
    for (__m512i& m : most) m = _mm512_set1_epi8(kLowest);
  }
  // Of one k, for half of the rows.
  PTX2CPU_INLINE void Add(const DownA<format, K>& a, const DownB<format, K>& b, int q, int n, int h) {
    most[h] = _mm512_max_epi8(most[h], _mm512_adds_epi8(a.exponents[q][n][h], b.exponents[q][n]));
    __asm__("" : "+v"(most[h]));  // now, not when registers are full of sums
  }
  // As fields of f32, which are 127 higher.
  PTX2CPU_INLINE I32x16 Field(int g, int p) const {
    const __m512i fields = _mm512_add_epi8(most[g / 2], _mm512_set1_epi8(kBias));
    const int part = g % 2 * 2 + p;
    const __m128i bytes = part == 0   ? _mm512_castsi512_si128(fields)
                          : part == 1 ? _mm512_extracti32x4_epi32(fields, 1)
                          : part == 2 ? _mm512_extracti32x4_epi32(fields, 2)
                                      : _mm512_extracti32x4_epi32(fields, 3);
    return Bits<I32x16>(_mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), kMantissa));
  }
};

// What decides whether sums are of this kind: exponents of accumulators, and those that terms are cut at.
struct DownRange {
  I32x16 highest{}, lowest = I32x16{} + INT32_MAX;
};

// sum += rows * *column, rounded as the thread rounds. A broadcast within a multiply-add costs
// nothing, one of its own takes the place of another operation (Zen 4).
PTX2CPU_INLINE inline void AddProducts(__m512d& sum, const __m512d& rows, const double* column) {
  __asm__("vfmadd231pd %2%{1to8%}, %1, %0" : "+v"(sum) : "v"(rows), "m"(*column));
}

// The sums of a product for columns of one parity. Exponents are fields of f32.
template <Format format, int K, int p>
struct DownSums {
  using OfA = DownA<format, K>;
  using OfB = DownB<format, K>;
  using Largest = LargestOfProducts<format, K>;
  static constexpr int kBias = 127, kMantissa = 23;

  __m512d of[kQuads][kHalves];  // of products, eight rows of a column

  PTX2CPU_INLINE void Begin(const Largest& largest, const uint32_t* c, uint32_t stride, int h,
                            DownRange& range) {
    // The upper word of 1.5 * 2^52 units.
    auto upper = [&](int g) PTX2CPU_INLINE {
      const I32x16 own = FieldOf(c, g, stride), field = __builtin_elementwise_max(largest.Field(g, p), own);
      range.highest = __builtin_elementwise_max(range.highest, own);
      range.lowest = __builtin_elementwise_min(range.lowest, field);
      return Bits<__m512i>((field >> 3) + ((1023 + 52 - kBitsBelow - kBias) << 20 | 0x80000));
    };
    const __m512i low = upper(2 * h), high = upper(2 * h + 1), none = _mm512_setzero_si512();
    auto put = [&](int q, __m512i both) PTX2CPU_INLINE {
      of[q][h] = _mm512_castsi512_pd(_mm512_slli_epi64(both, 32));
      of[q + 1][h] = _mm512_castsi512_pd(_mm512_mask_blend_epi32(0x5555, both, none));
    };
    put(0, _mm512_unpacklo_epi64(low, high));
    put(2, _mm512_unpackhi_epi64(low, high));
  }
  // The products of one k.
  PTX2CPU_INLINE void Add(const OfA& a, const OfB& b, int q, int n) {
    const auto* of_b = reinterpret_cast<const double*>(&b.values[q][n]) + 4 * p;
    for (int h = 0; h < kHalves; ++h) {
#pragma clang loop unroll(full)
      for (int column = 0; column < kQuads; ++column)
        AddProducts(of[column][h], a.values[q][n][h], of_b + column);
    }
  }
  PTX2CPU_INLINE void End(const Largest& largest, const OfA& a, const OfB& b, const uint32_t* c,
                          uint32_t stride, int h, uint32_t* d, uint32_t d_stride) const {
    auto joined = [&](int q) PTX2CPU_INLINE {
      return _mm512_castps_pd(
          _mm512_mask_moveldup_ps(_mm512_castpd_ps(of[q][h]), 0xaaaa, _mm512_castpd_ps(of[q + 1][h])));
    };
    const __m512d first = joined(0), second = joined(2);
    const I32x16 products[2] = {Bits<I32x16>(_mm512_unpacklo_pd(first, second)),
                                Bits<I32x16>(_mm512_unpackhi_pd(first, second))};
    I32x16 others[2], fields[2], overflows{};
    U32x16 results[2];
    for (int n = 0; n < 2; ++n) {
      const int g = 2 * h + n;
      fields[n] = __builtin_elementwise_max(largest.Field(g, p), FieldOf(c, g, stride));
      const auto scale =
          Bits<F32x16>(static_cast<int32_t>((2u * kBias + kBitsBelow) << kMantissa) - fields[n]);
      const F32x16 value = Bits<F32x16>(Group(c, g / 2 * kParities + p, g % 2, stride));
      // The accumulator cut, and the number of negative products.
      others[n] = Bits<I32x16>(_mm512_cvttps_epi32(Bits<__m512>(value * scale))) +
                  Bits<I32x16>(_mm512_popcnt_epi32(Bits<__m512i>(a.signs[g] & b.signs[p])));
      results[n] = Result(products[n], others[n], fields[n], overflows);
    }
    if (_mm512_movepi32_mask(Bits<__m512i>(overflows)) != 0) [[unlikely]] {
      for (int n = 0; n < 2; ++n) results[n] = LongResult(products[n], others[n], fields[n]);
    }
    for (int n = 0; n < 2; ++n) PutGroup(d, h * kParities + p, n, results[n], d_stride);
  }

  // Of the accumulator.
  static I32x16 FieldOf(const uint32_t* c, int g, uint32_t stride) {
    return Bits<I32x16>(Group(c, g / 2 * kParities + p, g % 2, stride) & (0xffu << kMantissa));
  }

 private:
  PTX2CPU_INLINE static U32x16 Result(I32x16 products, I32x16 others, I32x16 field, I32x16& overflows) {
    const auto sum = Bits<I32x16>(Bits<U32x16>(products) + Bits<U32x16>(others));
    overflows |= (sum ^ products) & (sum ^ others);
    const auto cut =
        Bits<F32x16>(_mm512_cvt_roundepi32_ps(Bits<__m512i>(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    // Exact: what would become infinite has products that are not of this kind.
    return Bits<U32x16>(cut * Bits<F32x16>(field - (kBitsBelow << kMantissa)));
  }
  __attribute__((noinline, cold)) static U32x16 LongResult(I32x16 products, I32x16 others, I32x16 field) {
    return CutToF32<false>(Total(products, others, (field >> kMantissa) - kBias));
  }
};

// Whether no accumulator but zero has a smaller exponent than all products may have.
template <Format format, int K>
__attribute__((noinline, cold)) bool HasNoLower(const uint32_t* c, uint32_t stride) {
  using Largest = LargestOfProducts<format, K>;
  constexpr uint32_t kLowestBits = (Largest::kLowest + Largest::kBias) << Largest::kMantissa;
  U32x16 lower{};
  for (int n = 0; n < kGroups * kParities; ++n) {
    const U32x16 magnitude = Group(c, n / 2, n % 2, stride) & 0x7fffffffu;
    lower |= Bits<U32x16>(magnitude < kLowestBits) & magnitude;
  }
  return __builtin_reduce_or(lower) == 0;
}
// Whether the accumulators are of this kind.
template <Format format, int K>
PTX2CPU_INLINE inline bool AreInRange(const DownRange& range, const uint32_t* c, uint32_t stride) {
  using Largest = LargestOfProducts<format, K>;
  constexpr int32_t kInfinite = 0xff << Largest::kMantissa, kLowestField = (Largest::kLowest + Largest::kBias)
                                                                           << Largest::kMantissa;
  if (_mm512_cmpge_epi32_mask(Bits<__m512i>(range.highest), _mm512_set1_epi32(kInfinite)) != 0) [[unlikely]]
    return false;
  if (_mm512_cmple_epi32_mask(Bits<__m512i>(range.lowest), _mm512_set1_epi32(kLowestField)) != 0) [[unlikely]]
    return HasNoLower<format, K>(c, stride);
  return true;
}

// While the terms of some sums are added, the sums before them are cut, those after them begin, and the
// largest exponents of the next product are found: these take other units of a processor, but for shuffles
// and stores. A bit of the result for each product that is not of this kind.
template <Format format, int K, typename Factors>
__attribute__((noinline)) uint64_t MultiplyRounded(const Factors* products, uint32_t count, uint32_t stride) {
  using Largest = LargestOfProducts<format, K>;
  constexpr int kCount = kOfQuad<format, K>;
  alignas(64) uint32_t nowhere[4 * kRegister];
  uint64_t left = 0;
  Largest before, largest;
#pragma clang loop unroll(disable)
  for (int q = 0; q < kQuads; ++q) {
    for (int k = 0; k < kCount; ++k) {
      for (int h = 0; h < kHalves; ++h) largest.Add(products->a->down, products->b->down, q, k, h);
    }
  }
  DownSums<format, K, 0> even;
  DownSums<format, K, 1> odd = {};
  DownRange range;
  for (int h = 0; h < kHalves; ++h) even.Begin(largest, products->sums, stride, h, range);
  Factors last = *products;
  uint32_t *d = nowhere, d_stride = kRegister;
#pragma clang loop unroll(disable)
  for (uint32_t n = 0; n < count; ++n) {
    const Factors now = products[n], next = products[n + 1 < count ? n + 1 : n];
    Largest after;
    ForQuarters([&]<int q>() PTX2CPU_INLINE {
      for (int k = 0; k < kCount; ++k) {
        even.Add(now.a->down, now.b->down, q, k);
        for (int h = 0; h < kHalves; ++h) after.Add(next.a->down, next.b->down, q, k, h);
      }
      if constexpr (q < kHalves)
        odd.End(before, last.a->down, last.b->down, last.sums, stride, q, d, d_stride);
      if constexpr (q >= 1 && q <= kHalves) odd.Begin(largest, now.sums, stride, q - 1, range);
    });
    d = now.sums;
    d_stride = stride;
    if (!AreInRange<format, K>(range, now.sums, stride)) [[unlikely]] {
      d = nowhere;
      d_stride = kRegister;
      left |= uint64_t{1} << n;
    }
    range = {};
    ForQuarters([&]<int q>() PTX2CPU_INLINE {
      for (int k = 0; k < kCount; ++k) odd.Add(now.a->down, now.b->down, q, k);
      if constexpr (q < kHalves)
        even.End(largest, now.a->down, now.b->down, now.sums, stride, q, d, d_stride);
      if constexpr (q >= 1 && q <= kHalves) even.Begin(after, next.sums, stride, q - 1, range);
    });
    before = largest;
    largest = after;
    last = now;
  }
  for (int h = 0; h < kHalves; ++h)
    odd.End(before, last.a->down, last.b->down, last.sums, stride, h, d, d_stride);
  return left;
}

}  // namespace ptx2cpu::rt::matrix
#endif
