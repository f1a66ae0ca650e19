// Products of f16, bf16 and tf32 as chains of fused multiply-adds in f32 (Combine::kChain of ir/matrix.h):
// each sum begins with its accumulator and takes the products in the order of k; of bf16, the second of each
// pair first, as the instruction for pairs does. NaN is 0x7fffffff, and 0x7fff in f16.
//
// Without FMA a product is rounded before it is added, which matters to products that are subnormal in f32 or
// exceed it only. The instruction for pairs of bf16 treats subnormal factors and sums as zeros.
#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_decode.h"
#include "runtime/warp/matrix_sums.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

extern "C" {
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX
}

namespace ptx2cpu::rt::matrix {
namespace {

#if defined(__AVX512BF16__)
constexpr bool kHasPairs = true;
inline F32x16 AddPairs(F32x16 sum, U32x16 a, U32x16 b) {
  return Bits<F32x16>(_mm512_dpbf16_ps(Bits<__m512>(sum), Bits<__m512bh>(a), Bits<__m512bh>(b)));
}
#else
constexpr bool kHasPairs = false;
[[maybe_unused]] inline F32x16 AddPairs(F32x16 sum, U32x16, U32x16) { return sum; }
#endif

template <Format format, int K>
struct Chain {
  static constexpr bool kIsPairs = kHasPairs && format == Format::kBF16;
  static constexpr int kTiles = TilesOf(format, K), kPlanes = kIsPairs ? 1 : PlanesOf(format);
  static constexpr bool kPreparesA = format == Format::kF16;
  struct OfA {
    U32x16 factors[kTiles][kGroups][kPlanes];
  };
  struct OfB {
    Columns columns[kTiles][kPlanes];
  };
  static_assert(sizeof(OfA) <= PTX2CPU_MATRIX_PREPARED_BYTES && sizeof(OfB) <= PTX2CPU_MATRIX_PREPARED_BYTES);

  // Planes in the order of the chain.
  static U32x16 Factor(U32x16 word, int plane) {
    if constexpr (kIsPairs) return word;
    return Bits<U32x16>(Value<format, false>(word, format == Format::kBF16 ? 1 - plane : plane));
  }
  static void PrepareA(OfA& a, const uint32_t* fragment) {
    for (int tile = 0; tile < kTiles; ++tile)
      for (int g = 0; g < kGroups; ++g)
        for (int plane = 0; plane < kPlanes; ++plane)
          a.factors[tile][g][plane] = Factor(Group(fragment, tile * 2 + g / 2, g % 2), plane);
  }
  static void PrepareB(OfB& b, const uint32_t* fragment) {
    for (int tile = 0; tile < kTiles; ++tile) {
      const U32x16 low = Group(fragment, tile, 0), high = Group(fragment, tile, 1);
      for (int plane = 0; plane < kPlanes; ++plane)
        b.columns[tile][plane].Put(Factor(low, plane), Factor(high, plane));
    }
  }
  static U32x16 FactorOfA(const void* a, int tile, int group, int plane) {
    if constexpr (kPreparesA) return static_cast<const OfA*>(a)->factors[tile][group][plane];
    return Factor(Group(static_cast<const uint32_t*>(a), tile * 2 + group / 2, group % 2), plane);
  }
  static F32x16 Add(F32x16 sum, U32x16 of_a, U32x16 of_b) {
#pragma STDC FP_CONTRACT ON
    if constexpr (kIsPairs) return AddPairs(sum, of_a, of_b);
    return Bits<F32x16>(of_a) * Bits<F32x16>(of_b) + sum;
  }

  // Some rows of `products` products with the same A. The words of a row are in the order of k, with all
  // planes of a word before the next word.
  template <int products, int count>
  PTX2CPU_INLINE static void Rows(const void* a, const OfB* const* b, int first,
                                  F32x16 (*sums)[count][kParities]) {
#pragma clang loop unroll(full)
    for (int tile = 0; tile < kTiles; ++tile) {
      U32x16 rows[count][kPlanes];
#pragma clang loop unroll(full)
      for (int n = 0; n < count; ++n) {
#pragma clang loop unroll(full)
        for (int plane = 0; plane < kPlanes; ++plane) rows[n][plane] = FactorOfA(a, tile, first + n, plane);
      }
      ForQuarters([&]<int q>() PTX2CPU_INLINE {
#pragma clang loop unroll(full)
        for (int plane = 0; plane < kPlanes; ++plane) {
          U32x16 of_b[products][kParities];
#pragma clang loop unroll(full)
          for (int i = 0; i < products; ++i) {
#pragma clang loop unroll(full)
            for (int p = 0; p < kParities; ++p)
              of_b[i][p] = b[i]->columns[tile][plane].template Get<U32x16>(q, p);
          }
#pragma clang loop unroll(full)
          for (int n = 0; n < count; ++n) {
            const U32x16 of_a = Spread<q>(rows[n][plane]);
#pragma clang loop unroll(full)
            for (int i = 0; i < products; ++i) {
#pragma clang loop unroll(full)
              for (int p = 0; p < kParities; ++p) sums[i][n][p] = Add(sums[i][n][p], of_a, of_b[i][p]);
            }
          }
        }
      });
    }
  }
};

inline U32x16 OneNan(F32x16 value) {
  return Choose(value == value, Bits<U32x16>(value), U32x16{} + 0x7fffffffu);
}

inline U32x16 HalfOf(F32x16 value) {
  const U32x16 sign = Bits<U32x16>(value) & 0x80000000u, half = MagnitudeInF16(Bits<U32x16>(value) ^ sign);
  return Choose(value == value, half | sign >> 16, U32x16{} + 0x7fff);
}

template <bool is_half>
PTX2CPU_INLINE inline void LoadSums(const uint32_t* c, int group, uint32_t stride, F32x16* sums) {
#pragma clang loop unroll(full)
  for (int p = 0; p < kParities; ++p) {
    if constexpr (is_half) {
      sums[p] = Value<Format::kF16, false>(Group(c, group / 2, group % 2, stride), p);
    } else {
      sums[p] = Bits<F32x16>(Group(c, group / 2 * kParities + p, group % 2, stride));
    }
  }
}
template <bool is_half>
PTX2CPU_INLINE inline void StoreSums(uint32_t* d, int group, uint32_t stride, const F32x16* sums) {
  if constexpr (is_half) {
    PutGroup(d, group / 2, group % 2, HalfOf(sums[0]) | HalfOf(sums[1]) << 16, stride);
  } else {
#pragma clang loop unroll(full)
    for (int p = 0; p < kParities; ++p)
      PutGroup(d, group / 2 * kParities + p, group % 2, OneNan(sums[p]), stride);
  }
}

// Products of the same A. Two of them fill the registers of AVX-512: the chains of one wait for each other,
// and both share what A is spread by.
template <Format format, int K, bool is_half, int products>
inline void Multiply(uint32_t* const* d, const void* a, const void* const* b, const uint32_t* const* c,
                     uint32_t stride) {
  constexpr int kCount = kGroupsAtOnce == 4 ? 4 : 2;
  using ThisChain = Chain<format, K>;
  const typename ThisChain::OfB* of_b[products];
  for (int i = 0; i < products; ++i) of_b[i] = static_cast<const typename ThisChain::OfB*>(b[i]);
#pragma clang loop unroll(disable)
  for (int first = 0; first < kGroups; first += kCount) {
    F32x16 sums[products][kCount][kParities];
#pragma clang loop unroll(full)
    for (int i = 0; i < products; ++i) {
#pragma clang loop unroll(full)
      for (int n = 0; n < kCount; ++n) LoadSums<is_half>(c[i], first + n, stride, sums[i][n]);
    }
    ThisChain::template Rows<products, kCount>(a, of_b, first, sums);
#pragma clang loop unroll(full)
    for (int i = 0; i < products; ++i) {
#pragma clang loop unroll(full)
      for (int n = 0; n < kCount; ++n) StoreSums<is_half>(d[i], first + n, stride, sums[i][n]);
    }
  }
}

template <Format format, int K, bool is_half>
inline void MultiplyAll(const ptx2cpu_matrix_product* products, uint32_t count, uint32_t stride) {
  constexpr bool kInPairs = kGroupsAtOnce == 4;
  for (uint32_t n = 0; n < count; ++n) {
    const ptx2cpu_matrix_product& first = products[n];
    if (kInPairs && n + 1 < count && products[n + 1].a == first.a) {
      const ptx2cpu_matrix_product& second = products[++n];
      uint32_t* const sums[] = {first.sums, second.sums};
      const void* const b[] = {first.b, second.b};
      Multiply<format, K, is_half, kInPairs ? 2 : 1>(sums, first.a, b, sums, stride);
    } else {
      Multiply<format, K, is_half, 1>(&first.sums, first.a, &first.b, &first.sums, stride);
    }
  }
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

using ptx2cpu::rt::matrix::Chain;
using ptx2cpu::rt::matrix::Format;
using ptx2cpu::rt::matrix::Multiply;

extern "C" {
#define PRODUCT_B(name, format, depth, is_half)                                                        \
  void name(uint32_t* d, const void* a, const void* b, const uint32_t* c, uint32_t, uint32_t stride) { \
    Multiply<Format::format, depth, is_half, 1>(&d, a, &b, &c, stride);                                \
  }                                                                                                    \
  void name##_all(const ptx2cpu_matrix_product* products, uint32_t count, uint32_t, uint32_t stride) { \
    ptx2cpu::rt::matrix::MultiplyAll<Format::format, depth, is_half>(products, count, stride);         \
  }                                                                                                    \
  void name##_b(void* prepared, const uint32_t* fragment, uint32_t) {                                  \
    using ThisChain = Chain<Format::format, depth>;                                                    \
    ThisChain::PrepareB(*static_cast<ThisChain::OfB*>(prepared), fragment);                            \
  }
#define PRODUCT(name, format, depth, is_half)                               \
  PRODUCT_B(name, format, depth, is_half)                                   \
  void name##_a(void* prepared, const uint32_t* fragment, uint32_t) {       \
    using ThisChain = Chain<Format::format, depth>;                         \
    ThisChain::PrepareA(*static_cast<ThisChain::OfA*>(prepared), fragment); \
  }
PRODUCT(ptx2cpu_matrix_chain_f16_k8_f32, kF16, 8, false)
PRODUCT(ptx2cpu_matrix_chain_f16_k16_f32, kF16, 16, false)
PRODUCT(ptx2cpu_matrix_chain_f16_k8_f16, kF16, 8, true)
PRODUCT(ptx2cpu_matrix_chain_f16_k16_f16, kF16, 16, true)
PRODUCT_B(ptx2cpu_matrix_chain_bf16_k8, kBF16, 8, false)
PRODUCT_B(ptx2cpu_matrix_chain_bf16_k16, kBF16, 16, false)
PRODUCT_B(ptx2cpu_matrix_chain_tf32_k4, kTF32, 4, false)
PRODUCT_B(ptx2cpu_matrix_chain_tf32_k8, kTF32, 8, false)
#undef PRODUCT
#undef PRODUCT_B
}
