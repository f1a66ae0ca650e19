// The sums of matrix_down.h for processors with registers of 256 bits: four rows of a column in each.
//
// Sums of two columns and all rows fill eight registers, and an element of B is loaded for four of them. What
// goes into sums and comes out of them is four rows of four columns, as a kernel has it.
#pragma once

#if defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
#include <immintrin.h>

#include "runtime/warp/matrix_accumulators.h"
#include "runtime/warp/matrix_rounding.h"

namespace ptx2cpu::rt::matrix {

// Bits of elements, one for each k: whether they have a sign, and whether they are not zero.
struct Signs {
  uint32_t minus, some;
};
// Bits for the words of two rows, or columns: those of the second row are above the 16 of the first.
template <Format format, int K>
PTX2CPU_INLINE inline Signs SignsOf(const uint32_t* fragment, int first, int step, int at) {
  const __m256i none = _mm256_setzero_si256();
  __m256i words[2] = {none, none}, zeros[2] = {none, none};
  for (int tile = 0; tile < TilesOf(format, K); ++tile) {
    const uint32_t* from = fragment + (first + tile * step) * kRegister + at;
    __m256i& word = words[tile] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (format == Format::kTF32) {
      word = _mm256_and_si256(word, _mm256_set1_epi32(static_cast<int>(0xffffe000u)));
      zeros[tile] = _mm256_cmpeq_epi32(_mm256_slli_epi32(word, 1), none);
    } else {
      zeros[tile] = _mm256_cmpeq_epi16(_mm256_slli_epi16(word, 1), none);
    }
  }
  auto bits = [&](__m256i* of_tiles) PTX2CPU_INLINE {
    if constexpr (format == Format::kTF32) {
      of_tiles[0] = _mm256_packs_epi32(of_tiles[0], of_tiles[1]);
      of_tiles[1] = none;
    }
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi16(of_tiles[0], of_tiles[1])));
  };
  return {bits(words), ~bits(zeros)};
}

// Where rows of a group and columns of a register are in a vector of f64: the rows 0 2 1 3 of one column.
template <Format format, int K>
struct DownA {
  static constexpr int kCount = TilesOf(format, K) * PlanesOf(format);
  __m256d values[kQuads][kCount][kGroups];
  U32x16 minus[kGroups], some[kGroups];  // signs of a row, in both halves of its words

  void Prepare(const uint32_t* fragment, const U32x16*) {
    for (int g = 0; g < kGroups; ++g) {
      uint32_t rows[2][kQuads];
      for (int pair = 0; pair < 2; ++pair) {
        const Signs both = SignsOf<format, K>(fragment, g / 2, 2, g % 2 * kFourRows + 8 * pair);
        rows[0][2 * pair] = (both.minus & 0xffff) * 0x10001;
        rows[0][2 * pair + 1] = (both.minus >> 16) * 0x10001;
        rows[1][2 * pair] = (both.some & 0xffff) * 0x10001;
        rows[1][2 * pair + 1] = (both.some >> 16) * 0x10001;
      }
      minus[g] = InAllQuads(rows[0]);
      some[g] = InAllQuads(rows[1]);
      for (int n = 0; n < kCount; ++n)
        PrepareValues(g, n, Group(fragment, n / PlanesOf(format) * 2 + g / 2, g % 2), n % PlanesOf(format));
    }
  }

 private:
  static U32x16 InAllQuads(const uint32_t* rows) {
    const auto four = LoadVector<uint32_t __attribute__((vector_size(16)))>(rows);
    return __builtin_shufflevector(four, four, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  }
  PTX2CPU_INLINE void PrepareValues(int g, int n, U32x16 words, int plane) {
    const F32x16 rows = Value<format, true>(words, plane);
    __m256 halves[2];
    __builtin_memcpy(halves, &rows, sizeof(rows));
    auto put = [&](int q, __m256 two) PTX2CPU_INLINE {
      const __m256d columns = _mm256_permute4x64_pd(_mm256_castps_pd(two), 0xd8);
      values[q][n][g] = _mm256_cvtps_pd(_mm256_castps256_ps128(_mm256_castpd_ps(columns)));
      values[q + 1][n][g] = _mm256_cvtps_pd(_mm256_extractf128_ps(_mm256_castpd_ps(columns), 1));
    };
    put(0, _mm256_unpacklo_ps(halves[0], halves[1]));
    put(2, _mm256_unpackhi_ps(halves[0], halves[1]));
  }
};

template <Format format, int K>
struct DownB {
  static constexpr int kCount = TilesOf(format, K) * PlanesOf(format);
  double values[kQuads][kCount][kParities][kQuads];
  uint32_t minus[kQuads], some[kQuads];  // signs of even columns in the lower halves, of odd ones above

  void Prepare(const uint32_t* fragment, const Columns&) {
    for (int tile = 0; tile < TilesOf(format, K); ++tile) {
      Columns columns;
      columns.Put(Group(fragment, tile, 0), Group(fragment, tile, 1));
      for (int q = 0; q < kQuads; q += 2) {
        const auto words = LoadVector<U32x16>(columns.words[q]);
        for (int plane = 0; plane < PlanesOf(format); ++plane)
          PrepareValues(q, tile * PlanesOf(format) + plane, Value<format, true>(words, plane));
      }
    }
    for (int q = 0; q < kQuads; ++q) {
      const Signs both = SignsOf<format, K>(fragment, 0, 1, 8 * q);
      minus[q] = both.minus;
      some[q] = both.some;
    }
  }

 private:
  // Prepares two words along k.
  PTX2CPU_INLINE void PrepareValues(int first, int n, F32x16 two) {
    __m128 parts[4];
    __builtin_memcpy(parts, &two, sizeof(two));
    for (int i = 0; i < 4; ++i) {
      _mm256_storeu_pd(values[first + i / kParities][n][i % kParities],
                       _mm256_mul_pd(_mm256_cvtps_pd(parts[i]), _mm256_set1_pd(1 + 0x1p-30)));
    }
  }
};

// In each half of a word.
inline __m256i CountBits(__m256i bits) {
  const __m256i nibbles = _mm256_set1_epi8(0xf),
                of_nibble = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2,
                                             2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low = _mm256_shuffle_epi8(of_nibble, _mm256_and_si256(bits, nibbles)),
                high = _mm256_shuffle_epi8(of_nibble, _mm256_and_si256(_mm256_srli_epi16(bits, 4), nibbles));
  return _mm256_maddubs_epi16(_mm256_add_epi8(low, high), _mm256_set1_epi8(1));
}

// Exponents are fields of f32.
template <Format format, int K>
class DownSums {
  static constexpr int kBias = 127, kMantissa = 23;
  // Below those of all products, and of nearly all other sums.
  static constexpr int kLowest = format == Format::kF16 ? -100 : 2 * LeastExponent<format>();
  static constexpr int32_t kLowestField = (kLowest + kBias) << kMantissa;
  // The sum of fewer products has no more than 31 bits.
  static constexpr bool kMayOverflow = K >= 16;

 public:
  // The sums of four rows, as in End.
  template <typename A, typename B>
  PTX2CPU_INLINE void Begin(const A& factors_a, const B& factors_b, const uint32_t* c, int g,
                            uint32_t stride) {
    const DownA<format, K>& a = factors_a.down;
    const DownB<format, K>& b = factors_b.down;
    I32x16 largest[1][kParities];
    LargestExponents<1>(factors_a, factors_b, g, largest);
    const U32x16 negative = (a.minus[g] ^ ForQuads<U32x16>(b.minus)) & a.some[g] & ForQuads<U32x16>(b.some);
    __m256i halves[2];
    __builtin_memcpy(halves, &negative, sizeof(negative));
    for (__m256i& half : halves) half = CountBits(half);
    const auto counts = LoadVector<U32x16>(halves);
    I32x16 highest{}, lowest = I32x16{} + INT32_MAX;
    for (int p = 0; p < kParities; ++p) {
      const U32x16 bits = Group(c, g / 2 * kParities + p, g % 2, stride);
      const auto own = Bits<I32x16>(bits & (0xffu << kMantissa));
      const I32x16 of_products = __builtin_elementwise_max((largest[0][p] + kBias) << kMantissa,
                                                           I32x16{} + kLowestField),
                   field = __builtin_elementwise_max(of_products, own);
      highest = __builtin_elementwise_max(highest, own);
      lowest = __builtin_elementwise_min(lowest, field);
      const auto scale = Bits<F32x16>(static_cast<int32_t>((2u * kBias + kBitsBelow) << kMantissa) - field);
      fields_[g][p] = field;
      others_[g][p] =
          Truncated(Bits<F32x16>(bits) * scale) + Bits<I32x16>(p == 0 ? counts & 0xffff : counts >> 16);
      // The upper words of 1.5 * 2^52 units.
      PutUpper(g, p, (field >> 3) + ((1023 + 52 - kBitsBelow - kBias) << 20 | 0x80000));
    }
    highest_ = g == 0 ? highest : __builtin_elementwise_max(highest_, highest);
    lowest_ = g == 0 ? lowest : __builtin_elementwise_min(lowest_, lowest);
  }
  // Whether the accumulators are of this kind.
  PTX2CPU_INLINE bool AreInRange(const uint32_t* c, uint32_t stride) const {
    if (AnyNegative((0xff << kMantissa) - 1 - highest_)) [[unlikely]]
      return false;
    if (AnyNegative(lowest_ - (kLowestField + 1))) [[unlikely]]
      return HasNoLower(c, stride);
    return true;
  }
  // The products of two columns.
  PTX2CPU_INLINE void Add(const DownA<format, K>& a, const DownB<format, K>& b, int q) {
    __m256d sums[kParities][kGroups];
    __builtin_memcpy(sums, sums_[q], sizeof(sums));
#pragma clang loop unroll(disable)
    for (int k = 0; k < kQuads; ++k) {
#pragma clang loop unroll(full)
      for (int n = 0; n < DownA<format, K>::kCount; ++n) {
        const __m256d even = _mm256_broadcast_sd(&b.values[k][n][0][q]),
                      odd = _mm256_broadcast_sd(&b.values[k][n][1][q]);
        for (int g = 0; g < kGroups; ++g) {
          const __m256d rows = a.values[k][n][g];
          sums[0][g] = _mm256_fmadd_pd(rows, even, sums[0][g]);
          sums[1][g] = _mm256_fmadd_pd(rows, odd, sums[1][g]);
        }
      }
    }
    __builtin_memcpy(sums_[q], sums, sizeof(sums));
  }
  PTX2CPU_INLINE void End(uint32_t* d, int g, uint32_t stride) const {
    I32x16 overflows{};
    U32x16 results[kParities];
    for (int p = 0; p < kParities; ++p) {
      const I32x16 products = Lower(g, p);
      const auto sum = Bits<I32x16>(Bits<U32x16>(products) + Bits<U32x16>(others_[g][p]));
      overflows |= (sum ^ products) & (sum ^ others_[g][p]);
      results[p] = Result(sum, fields_[g][p]);
    }
    if (kMayOverflow && AnyNegative(overflows)) [[unlikely]] {
      for (int p = 0; p < kParities; ++p) results[p] = LongResult(Lower(g, p), others_[g][p], fields_[g][p]);
    }
    StoreResults<false>(d, g, results, stride);
  }

 private:
  PTX2CPU_INLINE void PutUpper(int g, int p, I32x16 upper) {
    __m256i rows[2];
    __builtin_memcpy(rows, &upper, sizeof(upper));
    const __m256i none = _mm256_setzero_si256();
    auto put = [&](int q, __m256i two) PTX2CPU_INLINE {
      sums_[q][p][g] = _mm256_castsi256_pd(_mm256_unpacklo_epi32(none, two));
      sums_[q + 1][p][g] = _mm256_castsi256_pd(_mm256_unpackhi_epi32(none, two));
    };
    put(0, _mm256_unpacklo_epi32(rows[0], rows[1]));
    put(2, _mm256_unpackhi_epi32(rows[0], rows[1]));
  }
  PTX2CPU_INLINE I32x16 Lower(int g, int p) const {
    auto two = [&](int q) PTX2CPU_INLINE {
      return _mm256_shuffle_ps(_mm256_castpd_ps(sums_[q][p][g]), _mm256_castpd_ps(sums_[q + 1][p][g]), 0x88);
    };
    const __m256 first = two(0), second = two(2),
                 rows[2] = {_mm256_shuffle_ps(first, second, 0x88), _mm256_shuffle_ps(first, second, 0xdd)};
    return LoadVector<I32x16>(rows);
  }
  PTX2CPU_INLINE static bool AnyNegative(I32x16 words) {
    __m256 halves[2];
    __builtin_memcpy(halves, &words, sizeof(words));
    return _mm256_movemask_ps(_mm256_or_ps(halves[0], halves[1])) != 0;
  }
  PTX2CPU_INLINE static I32x16 Truncated(F32x16 values) {
    __m256 halves[2];
    __builtin_memcpy(halves, &values, sizeof(values));
    const __m256i words[2] = {_mm256_cvttps_epi32(halves[0]), _mm256_cvttps_epi32(halves[1])};
    return LoadVector<I32x16>(words);
  }
  // Magnitudes are cut by rounding down.
  PTX2CPU_INLINE static U32x16 Result(I32x16 sum, I32x16 field) {
    const auto cut = __builtin_convertvector(__builtin_elementwise_abs(sum), F32x16);
    const auto magnitude = Bits<U32x16>(cut * Bits<F32x16>(field - (kBitsBelow << kMantissa)));
    return magnitude | (Bits<U32x16>(sum) & 0x80000000u);
  }
  __attribute__((noinline, cold)) static U32x16 LongResult(I32x16 products, I32x16 others, I32x16 field) {
    return CutToF32<false>(Total(products, others, (field >> kMantissa) - kBias));
  }
  // Whether no accumulator but zero has a smaller exponent than all products may have.
  __attribute__((noinline, cold)) static bool HasNoLower(const uint32_t* c, uint32_t stride) {
    U32x16 lower{};
    for (int n = 0; n < kGroups * kParities; ++n) {
      const U32x16 magnitude = Group(c, n / 2, n % 2, stride) & 0x7fffffffu;
      lower |= Bits<U32x16>(magnitude < kLowestField) & magnitude;
    }
    return __builtin_reduce_or(lower) == 0;
  }

  __m256d sums_[kQuads][kParities][kGroups];  // of four rows of a column
  I32x16 fields_[kGroups][kParities];         // of the largest terms
  I32x16 others_[kGroups][kParities];         // the accumulators cut, and the numbers of negative products
  I32x16 highest_, lowest_;                   // exponents of accumulators, and those that terms are cut at
};

// While the terms of a product are added, sums of the one before it are cut, and those of the one after it
// begin. A bit of the result for each product that is not of this kind.
template <Format format, int K, typename Factors>
__attribute__((noinline)) uint64_t MultiplyRounded(const Factors* products, uint32_t count, uint32_t stride) {
  alignas(64) uint32_t nowhere[4 * kRegister];
  DownSums<format, K> sums[3];
  DownSums<format, K>*now = &sums[0], *next = &sums[1], *last = &sums[2];
  uint64_t left = 0;
#pragma clang loop unroll(disable)
  for (int g = 0; g < kGroups; ++g) now->Begin(*products->a, *products->b, products->sums, g, stride);
  uint32_t *d = nullptr, d_stride = kRegister;
#pragma clang loop unroll(disable)
  for (uint32_t n = 0; n < count; ++n) {
    const Factors of_now = products[n], of_next = products[n + 1 < count ? n + 1 : n];
    const bool in_range = now->AreInRange(of_now.sums, stride);
#pragma clang loop unroll(disable)
    for (int q = 0; q < kQuads; ++q) {
      now->Add(of_now.a->down, of_now.b->down, q);
      if (n + 1 < count) next->Begin(*of_next.a, *of_next.b, of_next.sums, q, stride);
      if (d != nullptr) last->End(d, q, d_stride);
    }
    d = in_range ? of_now.sums : nowhere;
    d_stride = in_range ? stride : kRegister;
    left |= uint64_t{!in_range} << n;
    DownSums<format, K>* const free = last;
    last = now;
    now = next;
    next = free;
  }
  for (int g = 0; g < kGroups; ++g) last->End(d, g, d_stride);
  return left;
}

}  // namespace ptx2cpu::rt::matrix
#endif
