// The factors of matrix_down.h as its sums need them: f64, exponents in bytes, and bits for signs.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>

#include "runtime/warp/matrix_exponents.h"

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

// A byte for each row of 16 words: four bits of each.
PTX2CPU_INLINE inline uint64_t InBytes(uint32_t words) {
  const uint32_t pairs = (words | words << 8) & 0x00ff00ff;
  return (pairs | pairs << 4) & 0x0f0f0f0f;
}
// The signs in the words of four rows: for each row, bits for its elements below zero, and bits for those
// above; the former are in the lower half if `first_negative`.
template <Format format, int K, bool first_negative>
PTX2CPU_INLINE inline __m128i SignsOf(const U32x16* words) {
  uint64_t below = 0, above = 0;
  for (int tile = 0; tile < TilesOf(format, K); ++tile) {
    const auto word = Bits<__m512i>(words[tile]);
    uint64_t negative, some;
    int shift = 32 * tile;
    if constexpr (format == Format::kTF32) {
      negative = InBytes(_mm512_movepi32_mask(word));
      some = InBytes(_mm512_test_epi32_mask(word, _mm512_set1_epi32(0x7fffe000)));
      shift = 4 * tile;
    } else {
      negative = _mm512_movepi16_mask(word);
      some = _mm512_test_epi16_mask(word, _mm512_set1_epi16(0x7fff));
    }
    below |= (negative & some) << shift;
    above |= (some & ~negative) << shift;
  }
  const auto first = static_cast<long long>(first_negative ? below : above),
             second = static_cast<long long>(first_negative ? above : below);
  return _mm_shuffle_epi8(_mm_set_epi64x(second, first),
                          _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

// Elements become upper words of f64, whose exponents have more bits and another bias: smaller numbers, by a
// power of two. Subnormal f16 become subnormal f64, which a multiplication normalises.
template <Format format>
struct Upper {
  static constexpr bool kIsHalf = format == Format::kF16;
  static constexpr int kShift = kIsHalf ? 6 : 3;
  static constexpr uint32_t kMask = format == Format::kF16    ? 0x81fffc00
                                    : format == Format::kBF16 ? 0x8fffe000
                                                              : 0x8ffffc00;
  static constexpr double kSmaller = kIsHalf ? 0x1p-1008 : 0x1p-896;

  PTX2CPU_INLINE static __m512i Of(U32x16 word, int plane) {
    const auto at_top = Bits<I32x16>(PlanesOf(format) == 2 && plane == 0 ? word << 16 : word);
    return Bits<__m512i>(Bits<U32x16>(at_top >> kShift) & kMask);
  }
};
// Products are 2^-923 times as large as those of the elements: then the exponent of 1.5 * 2^52 units, as f64
// has it, is the largest exponent, as f32 has it.
constexpr double kOfProducts = 0x1p-923;

PTX2CPU_INLINE inline __m512i EvenToUpper(__m512i words) { return _mm512_slli_epi64(words, 32); }
PTX2CPU_INLINE inline __m512i OddAsUpper(__m512i words) { return _mm512_maskz_mov_epi32(0xaaaa, words); }

// The bytes of matrix_exponents.h as those that sums of this kind are made of: for the factors A larger by a
// number, for those of B that number without 127 less the exponent, so that the difference of both is the
// product's field of f32. Saturated, it is 0 for products that are 0.
template <bool of_a>
PTX2CPU_INLINE inline __m512i ExponentsOf(__m512i bytes) {
  constexpr int kMaxExponent = kNarrow;
  const __mmask64 is_zero = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(kZero));
  if constexpr (of_a) {
    return _mm512_mask_mov_epi8(
        _mm512_add_epi8(bytes, _mm512_set1_epi8(static_cast<char>(127 + kMaxExponent))), is_zero,
        _mm512_setzero_si512());
  } else {
    return _mm512_mask_mov_epi8(_mm512_sub_epi8(_mm512_set1_epi8(kMaxExponent), bytes), is_zero,
                                _mm512_set1_epi8(-1));
  }
}

// What sums of this kind need of A, beyond the exponents in the words of matrix_exponents.h.
template <Format format, int K>
struct DownA {
  static constexpr int kCount = kOfQuad<format, K>;
  __m512d values[kQuads][kCount][kHalves];
  __m512i exponents[kQuads][kCount][kHalves];  // eight bytes for each row
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
      const __m512i quads = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
      signs[g] = Bits<U32x16>(
          _mm512_permutexvar_epi32(quads, _mm512_castsi128_si512(SignsOf<format, K, true>(of_tiles))));
    }
  }

  // What A is multiplied by: bf16 and tf32 of this kind are not subnormal.
  static constexpr double kMultiple = format == Format::kF16 ? 1 / Upper<format>::kSmaller : 1;

 private:
  PTX2CPU_INLINE void PrepareValues(int n, const U32x16* of_rows, int plane) {
    for (int h = 0; h < kHalves; ++h) {
      const __m512i first = Upper<format>::Of(of_rows[2 * h], plane),
                    second = Upper<format>::Of(of_rows[2 * h + 1], plane);
      auto put = [&](int q, __m512i upper) PTX2CPU_INLINE {
        __m512d value = _mm512_castsi512_pd(upper);
        if constexpr (kMultiple != 1) value = _mm512_mul_pd(value, _mm512_set1_pd(kMultiple));
        values[q][n][h] = value;
      };
      const __m512i low = _mm512_unpacklo_epi64(first, second), high = _mm512_unpackhi_epi64(first, second);
      put(0, EvenToUpper(low));
      put(1, OddAsUpper(low));
      put(2, EvenToUpper(high));
      put(3, OddAsUpper(high));
    }
  }
  PTX2CPU_INLINE void PrepareWords(int h, __m512i first, __m512i second) {
    auto put = [&](int q, __m512i words) PTX2CPU_INLINE {
      const __m512i rows = ExponentsOf<true>(words);
      for (int n = 0; n < kCount; ++n) {
        const __m128i at = _mm_set_epi64x(0x0808080808080808, 0);
        const auto byte = static_cast<char>(q % 2 * 4 + ByteOfElement<format, K>(n));
        exponents[q][n][h] =
            _mm512_shuffle_epi8(rows, _mm512_broadcast_i32x4(_mm_add_epi8(at, _mm_set1_epi8(byte))));
      }
    };
    const __m512i low = _mm512_unpacklo_epi64(first, second), high = _mm512_unpackhi_epi64(first, second);
    put(0, low);
    put(1, low);
    put(2, high);
    put(3, high);
  }
};

// The factors of B: for each k the columns 0 2 4 6 1 3 5 7.
template <Format format, int K>
struct DownB {
  static constexpr int kCount = kOfQuad<format, K>, kBytes = 4;
  __m512d values[kQuads][kCount];
  uint64_t exponents[kQuads][kBytes];  // a byte for each column
  U32x16 signs[kParities];             // of even and odd columns, for each of four rows
  bool may_overflow;

  void Prepare(const uint32_t* fragment, const Columns& bytes) {
    may_overflow = K >= 16 && HasLargeColumn(fragment);
    for (int tile = 0; tile < TilesOf(format, K); ++tile) PrepareValues(fragment, tile);
    PrepareWords(bytes);
    __m128i of_columns[2];
    for (int g = 0; g < 2; ++g) {
      U32x16 words[TilesOf(format, K)];
      for (int tile = 0; tile < TilesOf(format, K); ++tile) words[tile] = Group(fragment, tile, g);
      of_columns[g] = SignsOf<format, K, false>(words);
    }
    const __m512i columns = _mm512_castsi256_si512(_mm256_set_m128i(of_columns[1], of_columns[0])),
                  even = _mm512_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6);
    for (int p = 0; p < kParities; ++p)
      signs[p] =
          Bits<U32x16>(_mm512_permutexvar_epi32(_mm512_add_epi32(even, _mm512_set1_epi32(p)), columns));
  }

 private:
  PTX2CPU_INLINE void PrepareValues(const uint32_t* fragment, int tile) {
    constexpr double kMultiple =
        kOfProducts / Upper<format>::kSmaller / (Upper<format>::kSmaller * DownA<format, K>::kMultiple);
    const __m512d multiple = _mm512_set1_pd(kMultiple * (1 + 0x1p-30));
    const __m512i low = Bits<__m512i>(Group(fragment, tile, 0)),
                  high = Bits<__m512i>(Group(fragment, tile, 1));
    for (int q = 0; q < kQuads; q += 2) {
      // Two columns of word q, and the same ones of the next.
      const __m512i order = _mm512_add_epi32(
          _mm512_setr_epi32(0, 8, 1, 9, 16, 24, 17, 25, 4, 12, 5, 13, 20, 28, 21, 29), _mm512_set1_epi32(q));
      const auto words = Bits<U32x16>(_mm512_permutex2var_epi32(low, order, high));
      for (int plane = 0; plane < PlanesOf(format); ++plane) {
        const __m512i upper = Upper<format>::Of(words, plane), none = _mm512_setzero_si512();
        const int n = tile * PlanesOf(format) + plane;
        auto put = [&](int of_q, __m512i value) PTX2CPU_INLINE {
          values[of_q][n] = _mm512_mul_pd(_mm512_castsi512_pd(value), multiple);
        };
        put(q, _mm512_unpacklo_epi32(none, upper));
        put(q + 1, _mm512_unpackhi_epi32(none, upper));
      }
    }
  }
  // Sums of products and accumulators exceed 31 bits only where there are 16 products, and the significands
  // of 13 or more factors of a column are 1.75 or above. With 12 or fewer, the products are less than
  // 31 * 2^26 units in all, and the accumulator is less than 2^26.
  PTX2CPU_INLINE static bool HasLargeColumn(const uint32_t* fragment) {
    constexpr int kMany = 13;
    const __m512i large = _mm512_set1_epi16(format == Format::kF16 ? 0x300 : 0x60);
    auto columns = [&](int tile, int g) PTX2CPU_INLINE -> uint64_t {
      const auto words = Bits<__m512i>(Group(fragment, tile, g));
      return _mm512_cmpeq_epi16_mask(_mm512_and_si512(words, large), large);
    };
    constexpr int kLast = TilesOf(format, K) - 1;
    const uint64_t first = columns(0, 0) | columns(0, 1) << 32, second = columns(kLast, 0) | columns(kLast, 1)
                                                                                                 << 32;
    const __m128i of_columns = _mm_unpacklo_epi8(_mm_cvtsi64_si128(static_cast<long long>(first)),
                                                 _mm_cvtsi64_si128(static_cast<long long>(second)));
    const __m512i counts = _mm512_popcnt_epi32(_mm512_cvtepu16_epi32(_mm256_castsi128_si256(of_columns)));
    return (_mm512_cmpge_epi32_mask(counts, _mm512_set1_epi32(kMany)) & 0xff) != 0;
  }
  PTX2CPU_INLINE void PrepareWords(const Columns& bytes) {
    // Four words of four bytes: the same bytes of all together.
    const __m128i together = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    for (int q = 0; q < kQuads; q += 2) {
      const __m512i words =
          _mm512_shuffle_epi8(_mm512_loadu_si512(bytes.words[q]), _mm512_broadcast_i32x4(together));
      _mm512_storeu_si512(exponents[q], ExponentsOf<false>(_mm512_permutexvar_epi32(order, words)));
    }
  }
};

}  // namespace ptx2cpu::rt::matrix
#endif
