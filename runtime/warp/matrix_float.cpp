// Products of f16, bf16 and tf32 as the tensor cores of an H100 compute them (ir/interpret/matrix_sum.cpp has
// the rule). The product of two factors is exact in f32. It is scaled so that what is kept of it is an
// integer, and added as such. The largest exponents are found in bytes.
//
// Factors of exponents that do not fit, infinite ones and NaN are left to matrix_wide.cpp and
// matrix_general.cpp.
#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_accumulators.h"
#include "runtime/warp/matrix_decode.h"
#include "runtime/warp/matrix_down.h"
#include "runtime/warp/matrix_down_halves.h"
#include "runtime/warp/matrix_exponents.h"
#include "runtime/warp/matrix_short.h"
#include "runtime/warp/matrix_sums.h"

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

// Values: those of the fragment as vectors.
template <Format format, typename Values>
PTX2CPU_INLINE inline Source SourceOf(const uint32_t* fragment, const Exponents<format>& exponents,
                                      Values values, int count) {
  const uint32_t highest = exponents.Highest();
  const int above = static_cast<int>(highest) + LeastExponent<format>() + 1;
  const bool is_narrow = highest <= Exponents<format>::kMaxAbove;
  const Extent none{kNoLowest, above};
  return {fragment, is_narrow ? ExtentOf(values, count, above) : none, is_narrow};
}

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#define PTX2CPU_GOES_DOWN  // sums of the kind of matrix_down.h
template <bool is_half>
constexpr bool kGoesDown = !is_half;
#else
template <bool is_half>
constexpr bool kGoesDown = false;
#endif

// Whether elements are needed as floats.
template <bool is_half>
inline bool NeedsValues(const Source& source) {
  return kGoesDown<is_half> ? source.extent.lowest != kNoLowest : source.is_narrow;
}

template <Format format, int K, bool is_half>
struct FactorsOfA {
  static constexpr int kPlanes = PlanesOf(format), kTiles = TilesOf(format, K);
  U32x16 exponents[kGroups];
  F32x16 values[kGroups][kTiles][kPlanes];
  Source source;

  void Load(const uint32_t* from) {
    Exponents<format> all;
    for (int g = 0; g < kGroups; ++g) {
      U32x16 of_tiles[kTiles];
      for (int tile = 0; tile < kTiles; ++tile)
        of_tiles[tile] = Bits<U32x16>(all.Decode(Group(from, tile * 2 + g / 2, g % 2)));
      exponents[g] = Bytes<format>(of_tiles, kTiles);
    }
    auto value = [&](int n) PTX2CPU_INLINE {
      const int tile = n / kPlanes % kTiles, g = n / kPlanes / kTiles;
      return Value<format, true>(Group(from, tile * 2 + g / 2, g % 2), n % kPlanes);
    };
    constexpr int kCount = sizeof(values) / sizeof(F32x16);
    source = SourceOf(from, all, value, kCount);
    if (NeedsValues<is_half>(source)) {
#pragma clang loop unroll(full)
      for (int n = 0; n < kCount; ++n) (&values[0][0][0])[n] = value(n);
    }
#if defined(PTX2CPU_GOES_DOWN)
    is_ready = false;
  }

  // Made for the first product that needs it.
  const FactorsOfA& WithDown() const {
    if (!is_ready) {
      down.Prepare(source.fragment, exponents);
      is_ready = true;
    }
    return *this;
  }

  mutable bool is_ready;
  mutable DownA<format, K> down;
#else
  }
#endif
};

template <Format format, int K, bool is_half>
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
    auto value = [&](int n) PTX2CPU_INLINE {
      return Value<format, true>(Group(from, n / 2 / kPlanes, n % 2), n / 2 % kPlanes);
    };
    constexpr int kCount = kTiles * kPlanes;
    source = SourceOf(from, all, value, 2 * kCount);
    if (NeedsValues<is_half>(source)) {
#pragma clang loop unroll(full)
      for (int n = 0; n < kCount; ++n)
        (&values[0][0])[n].Put(Bits<U32x16>(value(2 * n)), Bits<U32x16>(value(2 * n + 1)));
    }
#if defined(PTX2CPU_GOES_DOWN)
    is_ready = false;
  }

  // Made for the first product that needs it.
  const FactorsOfB& WithDown() const {
    if (!is_ready) {
      down.Prepare(source.fragment, exponents);
      is_ready = true;
    }
    return *this;
  }

  mutable bool is_ready;
  mutable DownB<format, K> down;
#else
  }
#endif
};

template <Format format, int K, bool is_half>
struct Product {
  static constexpr int kLeast = 2 * LeastExponent<format>(), kTiles = TilesOf(format, K),
                       kPlanes = PlanesOf(format);
  using OfA = FactorsOfA<format, K, is_half>;
  using OfB = FactorsOfB<format, K, is_half>;
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
  using OfA = FactorsOfA<format, K, is_half>;
  using OfB = FactorsOfB<format, K, is_half>;

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

#if defined(PTX2CPU_GOES_DOWN)
// Products of a run that follow each other and are sums of the kind of matrix_down.h are computed together.
template <Format format, int K, bool is_half>
void MultiplyRuns(Otherwise* otherwise, const ptx2cpu_matrix_product* products, uint32_t count, uint32_t form,
                  uint32_t stride) {
  using OfA = FactorsOfA<format, K, is_half>;
  using OfB = FactorsOfB<format, K, is_half>;
  auto a = [&](uint32_t n) PTX2CPU_INLINE -> const OfA& { return *static_cast<const OfA*>(products[n].a); };
  auto b = [&](uint32_t n) PTX2CPU_INLINE -> const OfB& { return *static_cast<const OfB*>(products[n].b); };
  auto is_narrow = [&](uint32_t n) { return a(n).source.is_narrow && b(n).source.is_narrow; };
  auto by_fragments = [&](uint32_t n) PTX2CPU_INLINE {
    const auto& p = products[n];
    MultiplyFragments<Product<format, K, is_half>, is_half>(otherwise, p.sums, p.a, p.b, p.sums, form,
                                                            stride);
  };
  for (uint32_t n = 0; n < count;) {
    uint32_t* sums = products[n].sums;
    if (!is_narrow(n)) {
      by_fragments(n++);
      continue;
    }
    if (IsShort<is_half>(a(n).source.extent, b(n).source.extent, K, sums, stride)) {
      AllRows<ShortProduct<format, K, is_half>>(sums, a(n), b(n), sums, stride);
      ++n;
      continue;
    }
    DownFactors<OfA, OfB> factors[kMaxTogether];
    uint32_t size = 0;
    do {
      factors[size] = {&a(n + size).WithDown(), &b(n + size).WithDown(), products[n + size].sums};
      ++size;
    } while (n + size < count && size < kMaxTogether && is_narrow(n + size) &&
             !MayBeShort<is_half>(a(n + size).source.extent, b(n + size).source.extent, K));
    uint64_t left = 0;
    {
      const RoundsDown rounds;
      left = MultiplyRounded<format, K>(factors, size, stride);
    }
    for (; left != 0; left &= left - 1) by_fragments(n + static_cast<uint32_t>(__builtin_ctzll(left)));
    n += size;
  }
}
#endif

template <Format format, int K, bool is_half>
void MultiplyAll(Otherwise* otherwise, const ptx2cpu_matrix_product* products, uint32_t count, uint32_t form,
                 uint32_t stride) {
#if defined(PTX2CPU_GOES_DOWN)
  if constexpr (kGoesDown<is_half>)
    return MultiplyRuns<format, K, is_half>(otherwise, products, count, form, stride);
#endif
  for (uint32_t n = 0; n < count; ++n) {
    const ptx2cpu_matrix_product& p = products[n];
    if (!Multiply<format, K, is_half>(p.sums, p.a, p.b, p.sums, stride))
      MultiplyFragments<Product<format, K, is_half>, is_half>(otherwise, p.sums, p.a, p.b, p.sums, form,
                                                              stride);
  }
}

template <Format format, int K, bool is_half>
void MultiplyOne(Otherwise* otherwise, uint32_t* d, const void* a, const void* b, const uint32_t* c,
                 uint32_t form, uint32_t stride) {
  if (d != c) {
    constexpr int kGroupsOfAll = is_half ? 4 : 8;
    for (int n = 0; n < kGroupsOfAll; ++n) PutGroup(d, n / 2, n % 2, Group(c, n / 2, n % 2, stride), stride);
  }
  const ptx2cpu_matrix_product product{d, a, b};
  MultiplyAll<format, K, is_half>(otherwise, &product, 1, form, stride);
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

namespace matrix = ptx2cpu::rt::matrix;
using matrix::Format;

extern "C" {
#define PRODUCT(name, format, depth, is_half, otherwise)                                                    \
  void name(uint32_t* d, const void* a, const void* b, const uint32_t* c, uint32_t form, uint32_t stride) { \
    matrix::MultiplyOne<Format::format, depth, is_half>(otherwise, d, a, b, c, form, stride);               \
  }                                                                                                         \
  void name##_all(const ptx2cpu_matrix_product* products, uint32_t count, uint32_t form, uint32_t stride) { \
    matrix::MultiplyAll<Format::format, depth, is_half>(otherwise, products, count, form, stride);          \
  }                                                                                                         \
  void name##_a(void* prepared, const uint32_t* fragment, uint32_t) {                                       \
    static_cast<matrix::FactorsOfA<Format::format, depth, is_half>*>(prepared)->Load(fragment);             \
  }                                                                                                         \
  void name##_b(void* prepared, const uint32_t* fragment, uint32_t) {                                       \
    static_cast<matrix::FactorsOfB<Format::format, depth, is_half>*>(prepared)->Load(fragment);             \
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
