// Products of f16, bf16 and tf32 as the tensor cores of an H100 compute them (ir/interpret/matrix_sum.cpp has
// the rule). The product of two factors is exact in f32. It is scaled so that what is kept of it is an
// integer, and added as such. The largest exponents are found in bytes.
//
// Factors of exponents that do not fit, infinite ones and NaN are left to matrix_wide.cpp and
// matrix_general.cpp.
#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_decode.h"
#include "runtime/warp/matrix_exponents.h"
#include "runtime/warp/matrix_short.h"
#include "runtime/warp/matrix_sums.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

extern "C" {
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX
}

namespace ptx2cpu::rt::matrix {
namespace {

// -- factors --

struct Source {
  const uint32_t* fragment;
  Extent extent;
  bool is_narrow;
};

template <Format format>
inline Source SourceOf(const uint32_t* fragment, const Exponents<format>& exponents, const void* values,
                       int count) {
  const uint32_t highest = exponents.Highest();
  const int above = static_cast<int>(highest) + LeastExponent<format>() + 1;
  const bool is_narrow = highest <= Exponents<format>::kMaxAbove;
  const Extent none{kNoLowest, above};
  return {fragment, is_narrow ? ExtentOf(static_cast<const F32x16*>(values), count, above) : none, is_narrow};
}

template <Format format, int K>
struct FactorsOfA {
  static constexpr int kPlanes = PlanesOf(format), kTiles = TilesOf(format, K);
  U32x16 exponents[kGroups];
  F32x16 values[kGroups][kTiles][kPlanes];
  Source source;

  void Load(const uint32_t* from) {
    Exponents<format> all;
    for (int g = 0; g < kGroups; ++g) {
      U32x16 of_tiles[kTiles];
      for (int tile = 0; tile < kTiles; ++tile) {
        const U32x16 word = Group(from, tile * 2 + g / 2, g % 2);
        of_tiles[tile] = Bits<U32x16>(all.Decode(word));
        for (int plane = 0; plane < kPlanes; ++plane)
          values[g][tile][plane] = Value<format, true>(word, plane);
      }
      exponents[g] = Bytes<format>(of_tiles, kTiles);
    }
    source = SourceOf(from, all, values, sizeof(values) / sizeof(F32x16));
  }
};

template <Format format, int K>
struct FactorsOfB {
  static constexpr int kPlanes = PlanesOf(format), kTiles = TilesOf(format, K);
  Columns values[kTiles][kPlanes], exponents;
  Source source;

  void Load(const uint32_t* from) {
    Exponents<format> all;
    U32x16 bytes[2];
    for (int g = 0; g < 2; ++g) {
      U32x16 of_tiles[kTiles];
      for (int tile = 0; tile < kTiles; ++tile)
        of_tiles[tile] = Bits<U32x16>(all.Decode(Group(from, tile, g)));
      bytes[g] = Bytes<format>(of_tiles, kTiles);
    }
    exponents.Put(bytes[0], bytes[1]);
    for (int tile = 0; tile < kTiles; ++tile) {
      const U32x16 low = Group(from, tile, 0), high = Group(from, tile, 1);
      for (int plane = 0; plane < kPlanes; ++plane)
        values[tile][plane].Put(Bits<U32x16>(Value<format, true>(low, plane)),
                                Bits<U32x16>(Value<format, true>(high, plane)));
    }
    source = SourceOf(from, all, values, sizeof(values) / sizeof(F32x16));
  }
};

// The largest exponent of products, for `count` groups from `first` on.
template <int count, typename A, typename B>
PTX2CPU_INLINE inline void LargestExponents(const A& a, const B& b, int first, I32x16 (*largest)[kParities]) {
  I8x64 bytes[count][kParities];
  for (auto& of_group : bytes)
    for (I8x64& one : of_group) one = I8x64{} + static_cast<int8_t>(kZero);
  ForQuarters([&]<int q>() PTX2CPU_INLINE {
    const I8x64 of_b[kParities] = {b.exponents.template Get<I8x64>(q, 0),
                                   b.exponents.template Get<I8x64>(q, 1)};
    for (int n = 0; n < count; ++n) {
      const auto of_a = Bits<I8x64>(Spread<q>(a.exponents[first + n]));
      for (int p = 0; p < kParities; ++p)
        bytes[n][p] = __builtin_elementwise_max(bytes[n][p], __builtin_elementwise_add_sat(of_a, of_b[p]));
    }
  });
  for (int n = 0; n < count; ++n)
    for (int p = 0; p < kParities; ++p) largest[n][p] = LargestOfBytes(bytes[n][p]);
}

// -- accumulators --

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

template <Format format, int K, bool is_half>
struct Product {
  static constexpr int kLeast = 2 * LeastExponent<format>(), kTiles = TilesOf(format, K),
                       kPlanes = PlanesOf(format);
  using OfA = FactorsOfA<format, K>;
  using OfB = FactorsOfB<format, K>;
  static_assert(sizeof(OfA) <= PTX2CPU_MATRIX_PREPARED_BYTES && sizeof(OfB) <= PTX2CPU_MATRIX_PREPARED_BYTES);

  template <int count>
  static void Rows(uint32_t* d, const OfA& a, const OfB& b, const uint32_t* c, int first, uint32_t stride) {
    I32x16 largest[count][kParities], sums[count][kParities] = {};
    F32x16 scale[count][kParities];
    LargestExponents<count>(a, b, first, largest);
    for (int n = 0; n < count; ++n) {
      for (int p = 0; p < kParities; ++p) {
        const I32x16 exponent = LoadAccumulator<is_half>(c, first + n, p, stride).exponent;
        largest[n][p] = __builtin_elementwise_max(largest[n][p], exponent);
        const I32x16 bounded = __builtin_elementwise_max(largest[n][p], I32x16{} + kLeast);
        scale[n][p] = Bits<F32x16>(PowerOfTwo(kBitsBelow - bounded));
      }
    }
    for (int tile = 0; tile < kTiles; ++tile) {
      for (int plane = 0; plane < kPlanes; ++plane) {
        ForQuarters([&]<int q>() PTX2CPU_INLINE {
          const Columns& columns = b.values[tile][plane];
          const F32x16 of_b[kParities] = {columns.template Get<F32x16>(q, 0),
                                          columns.template Get<F32x16>(q, 1)};
          for (int n = 0; n < count; ++n) {
            const F32x16 of_a = Spread<q>(a.values[first + n][tile][plane]);
            for (int p = 0; p < kParities; ++p)
              sums[n][p] += __builtin_convertvector(of_a * of_b[p] * scale[n][p], I32x16);
          }
        });
      }
    }
    for (int n = 0; n < count; ++n) {
      U32x16 results[kParities];
      I32x16 overflows{};
      F32x16 value[kParities];
      for (int p = 0; p < kParities; ++p) {
        // Where no product counts and c is small, c is the sum; zero has no sign.
        const I32x16 only_c = largest[n][p] < kLeast,
                     bounded = __builtin_elementwise_max(largest[n][p], I32x16{} + kLeast);
        value[p] = LoadAccumulator<is_half>(c, first + n, p, stride).value;
        const auto own = __builtin_convertvector(Choose(only_c, F32x16{}, value[p]) * scale[n][p], I32x16);
        if constexpr (is_half) {
          results[p] = RoundSum(sums[n][p], own, bounded, overflows);
        } else {
          results[p] =
              Choose(only_c, Bits<U32x16>(value[p] + 0.0f), CutSum(sums[n][p], own, bounded, overflows));
        }
      }
      if (__builtin_reduce_or(Bits<U32x16>(overflows)) >> 31 != 0) [[unlikely]] {
        for (int p = 0; p < kParities; ++p) {
          const auto own = __builtin_convertvector(value[p] * scale[n][p], I32x16);
          const F64x16 total = Total(sums[n][p], own, largest[n][p]);
          results[p] = is_half ? RoundToF16(total) : CutToF32<false>(total);
        }
      }
      StoreResults<is_half>(d, first + n, results, stride);
    }
  }
};

// Sums that f32 holds (matrix_short.h).
template <Format format, int K, bool is_half>
struct ShortProduct {
  using OfA = FactorsOfA<format, K>;
  using OfB = FactorsOfB<format, K>;

  template <int count>
  static void Rows(uint32_t* d, const OfA& a, const OfB& b, const uint32_t* c, int first, uint32_t stride) {
#pragma STDC FP_CONTRACT ON
    F32x16 sums[count][kParities];
    for (int n = 0; n < count; ++n)
      for (int p = 0; p < kParities; ++p) sums[n][p] = AccumulatorInF32<is_half>(c, first + n, p, stride);
    for (int tile = 0; tile < OfA::kTiles; ++tile) {
      for (int plane = 0; plane < OfA::kPlanes; ++plane) {
        ForQuarters([&]<int q>() PTX2CPU_INLINE {
          const Columns& columns = b.values[tile][plane];
          const F32x16 of_b[kParities] = {columns.template Get<F32x16>(q, 0),
                                          columns.template Get<F32x16>(q, 1)};
          for (int n = 0; n < count; ++n) {
            const F32x16 of_a = Spread<q>(a.values[first + n][tile][plane]);
            for (int p = 0; p < kParities; ++p) sums[n][p] = of_a * of_b[p] + sums[n][p];
          }
        });
      }
    }
    for (int n = 0; n < count; ++n) {
      U32x16 results[kParities];
      for (int p = 0; p < kParities; ++p) {
        results[p] = Bits<U32x16>(sums[n][p] + 0.0f);  // zero has no sign
        if constexpr (is_half) {
          const U32x16 sign = results[p] & 0x80000000u;
          results[p] = MagnitudeInF16(results[p] ^ sign) | sign >> 16;
        }
      }
      StoreResults<is_half>(d, first + n, results, stride);
    }
  }
};

// By a product that has `Rows`.
template <typename Product, typename OfA, typename OfB>
inline void AllRows(uint32_t* d, const OfA& a, const OfB& b, const uint32_t* c, uint32_t stride) {
#pragma clang loop unroll(disable)
  for (int first = 0; first < kGroups; first += kGroupsAtOnce)
    Product::template Rows<kGroupsAtOnce>(d, a, b, c, first, stride);
}

template <Format format, int K, bool is_half>
inline bool Multiply(uint32_t* d, const void* a, const void* b, const uint32_t* c, uint32_t stride) {
  using ThisProduct = Product<format, K, is_half>;
  const auto& of_a = *static_cast<const typename ThisProduct::OfA*>(a);
  const auto& of_b = *static_cast<const typename ThisProduct::OfB*>(b);
  if (!of_a.source.is_narrow || !of_b.source.is_narrow) return false;
  if (IsShort<is_half>(of_a.source.extent, of_b.source.extent, K, c, stride)) {
    AllRows<ShortProduct<format, K, is_half>>(d, of_a, of_b, c, stride);
    return true;
  }
  if (!AreFinite<is_half>(c, stride)) return false;
  AllRows<ThisProduct>(d, of_a, of_b, c, stride);
  return true;
}

using Otherwise = void(uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*,
                       uint32_t);

// By a function that takes fragments, and accumulators whose registers follow each other.
template <typename Product, bool is_half>
__attribute__((noinline)) void MultiplyFragments(Otherwise* otherwise, uint32_t* d, const void* a,
                                                 const void* b, const uint32_t* c, uint32_t form,
                                                 uint32_t stride) {
  constexpr int kRegisters = is_half ? 2 : 4;
  alignas(64) uint32_t sums[kRegisters * kRegister];
  for (int n = 0; n < 2 * kRegisters; ++n) PutGroup(sums, n / 2, n % 2, Group(c, n / 2, n % 2, stride));
  otherwise(sums, static_cast<const typename Product::OfA*>(a)->source.fragment,
            static_cast<const typename Product::OfB*>(b)->source.fragment, sums, nullptr, form);
  for (int n = 0; n < 2 * kRegisters; ++n) PutGroup(d, n / 2, n % 2, Group(sums, n / 2, n % 2), stride);
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

namespace matrix = ptx2cpu::rt::matrix;
using matrix::Format;

extern "C" {
#define PRODUCT(name, format, depth, is_half, otherwise)                                                    \
  void name(uint32_t* d, const void* a, const void* b, const uint32_t* c, uint32_t form, uint32_t stride) { \
    using Product = matrix::Product<Format::format, depth, is_half>;                                        \
    if (!matrix::Multiply<Format::format, depth, is_half>(d, a, b, c, stride))                              \
      matrix::MultiplyFragments<Product, is_half>(otherwise, d, a, b, c, form, stride);                     \
  }                                                                                                         \
  void name##_a(void* prepared, const uint32_t* fragment, uint32_t) {                                       \
    static_cast<matrix::FactorsOfA<Format::format, depth>*>(prepared)->Load(fragment);                      \
  }                                                                                                         \
  void name##_b(void* prepared, const uint32_t* fragment, uint32_t) {                                       \
    static_cast<matrix::FactorsOfB<Format::format, depth>*>(prepared)->Load(fragment);                      \
  }
PRODUCT(ptx2cpu_matrix_f16_k8_f32, kF16, 8, false, ptx2cpu_matrix_general)
PRODUCT(ptx2cpu_matrix_f16_k16_f32, kF16, 16, false, ptx2cpu_matrix_general)
PRODUCT(ptx2cpu_matrix_f16_k8_f16, kF16, 8, true, ptx2cpu_matrix_general)
PRODUCT(ptx2cpu_matrix_f16_k16_f16, kF16, 16, true, ptx2cpu_matrix_general)
PRODUCT(ptx2cpu_matrix_bf16_k8, kBF16, 8, false, ptx2cpu_matrix_wide_bf16_k8)
PRODUCT(ptx2cpu_matrix_bf16_k16, kBF16, 16, false, ptx2cpu_matrix_wide_bf16_k16)
PRODUCT(ptx2cpu_matrix_tf32_k4, kTF32, 4, false, ptx2cpu_matrix_wide_tf32_k4)
PRODUCT(ptx2cpu_matrix_tf32_k8, kTF32, 8, false, ptx2cpu_matrix_wide_tf32_k8)
#undef PRODUCT
}
