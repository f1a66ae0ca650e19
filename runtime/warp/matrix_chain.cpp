// Products of f16, bf16 and tf32 as chains of fused multiply-adds in f32 (Combine::kChain of ir/matrix.h):
// each sum begins with its accumulator and takes the products in the order of k; of bf16, the second of each
// pair first, as the instruction for pairs does. NaN is 0x7fffffff, and 0x7fff in f16.
//
// Without FMA a product is rounded before it is added, which matters to products that are subnormal in f32 or
// exceed it only. The instruction for pairs of bf16 takes subnormal factors and sums for zeros.
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
inline F32x16 AddPairs(F32x16 sum, U32x16, U32x16) { return sum; }
#endif

template <Format format, int K>
struct Chain {
  static constexpr bool kIsPairs = kHasPairs && format == Format::kBF16;
  static constexpr int kTiles = TilesOf(format, K), kPlanes = kIsPairs ? 1 : PlanesOf(format);
  Columns b[kTiles][kPlanes];

  // Planes in the order of the chain.
  static U32x16 Factor(U32x16 word, int plane) {
    if constexpr (kIsPairs) return word;
    return Bits<U32x16>(Value<format, false>(word, format == Format::kBF16 ? 1 - plane : plane));
  }
  void PutColumns(const uint32_t* registers) {
    for (int tile = 0; tile < kTiles; ++tile) {
      const U32x16 low = Group(registers, tile, 0), high = Group(registers, tile, 1);
      for (int plane = 0; plane < kPlanes; ++plane)
        b[tile][plane].Put(Factor(low, plane), Factor(high, plane));
    }
    KeepInMemory(b);
  }
  static F32x16 Add(F32x16 sum, U32x16 of_a, U32x16 of_b) {
#pragma STDC FP_CONTRACT ON
    if constexpr (kIsPairs) return AddPairs(sum, of_a, of_b);
    return Bits<F32x16>(of_a) * Bits<F32x16>(of_b) + sum;
  }

  // Words of a row hold k in turn, with all planes of a word before the next word.
  template <int count>
  PTX2CPU_INLINE void Rows(const uint32_t* a, int first, F32x16 (*sums)[kParities]) const {
    for (int tile = 0; tile < kTiles; ++tile) {
      U32x16 rows[count][kPlanes];
      for (int n = 0; n < count; ++n)
        for (int plane = 0; plane < kPlanes; ++plane)
          rows[n][plane] = Factor(Group(a, tile * 2 + (first + n) / 2, (first + n) % 2), plane);
      ForQuarters([&]<int q>() PTX2CPU_INLINE {
        for (int plane = 0; plane < kPlanes; ++plane) {
          const Columns& columns = b[tile][plane];
          const U32x16 of_b[kParities] = {columns.Get<U32x16>(q, 0), columns.Get<U32x16>(q, 1)};
          for (int n = 0; n < count; ++n) {
            const U32x16 of_a = Spread<q>(rows[n][plane]);
            for (int p = 0; p < kParities; ++p) sums[n][p] = Add(sums[n][p], of_a, of_b[p]);
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

template <Format format, int K, bool is_half>
inline void Multiply(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
  constexpr int kCount = kGroupsAtOnce == 4 ? 4 : 2;
  Chain<format, K> chain;
  chain.PutColumns(b);
#pragma clang loop unroll(disable)
  for (int first = 0; first < 4; first += kCount) {
    F32x16 sums[kCount][kParities];
    for (int n = 0; n < kCount; ++n) {
      const int group = first + n;
      for (int p = 0; p < kParities; ++p) {
        if constexpr (is_half) {
          sums[n][p] = Value<Format::kF16, false>(Group(c, group / 2, group % 2), p);
        } else {
          sums[n][p] = Bits<F32x16>(Group(c, group / 2 * kParities + p, group % 2));
        }
      }
    }
    chain.template Rows<kCount>(a, first, sums);
    for (int n = 0; n < kCount; ++n) {
      const int group = first + n;
      if constexpr (is_half) {
        PutGroup(d, group / 2, group % 2, HalfOf(sums[n][0]) | HalfOf(sums[n][1]) << 16);
      } else {
        for (int p = 0; p < kParities; ++p)
          PutGroup(d, group / 2 * kParities + p, group % 2, OneNan(sums[n][p]));
      }
    }
  }
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

using ptx2cpu::rt::matrix::Format;
using ptx2cpu::rt::matrix::Multiply;

extern "C" {
#define PRODUCT(name, format, depth, is_half)                                                      \
  void name(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, const uint32_t*, \
            uint32_t) {                                                                            \
    Multiply<Format::format, depth, is_half>(d, a, b, c);                                          \
  }
PRODUCT(ptx2cpu_matrix_chain_f16_k8_f32, kF16, 8, false)
PRODUCT(ptx2cpu_matrix_chain_f16_k16_f32, kF16, 16, false)
PRODUCT(ptx2cpu_matrix_chain_f16_k8_f16, kF16, 8, true)
PRODUCT(ptx2cpu_matrix_chain_f16_k16_f16, kF16, 16, true)
PRODUCT(ptx2cpu_matrix_chain_bf16_k8, kBF16, 8, false)
PRODUCT(ptx2cpu_matrix_chain_bf16_k16, kBF16, 16, false)
PRODUCT(ptx2cpu_matrix_chain_tf32_k4, kTF32, 4, false)
PRODUCT(ptx2cpu_matrix_chain_tf32_k8, kTF32, 8, false)
#undef PRODUCT
}
