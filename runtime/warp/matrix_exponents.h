// Exponents of factors, in bytes: the largest ones of sums of products are found among sums of two.
#pragma once

#include "runtime/warp/matrix_decode.h"
#include "runtime/warp/matrix_quads.h"

namespace ptx2cpu::rt::matrix {

// Exponents of products are sums of two. The exponent of zero is below all others, also in the sum, which
// saturates.
constexpr int kNarrow = 42, kZero = -128;

template <Format format>
constexpr int LeastExponent() {
  return format == Format::kF16 ? -14 : -kNarrow;
}

template <Format format>
struct Lanes {
  using Element = uint16_t;
  using U = U16x32;
  using I = I16x32;
};
template <>
struct Lanes<Format::kTF32> {
  using Element = uint32_t;
  using U = U32x16;
  using I = I32x16;
};

// The exponents of words, in 16 bits for f16 and bf16, in 32 bits for tf32.
template <Format format>
struct Exponents {
  using Element = Lanes<format>::Element;
  using U = Lanes<format>::U;
  static constexpr int kMantissa = format == Format::kTF32 ? 23 : format == Format::kBF16 ? 7 : 10;
  static constexpr int kBias = format == Format::kF16 ? 15 : 127;
  static constexpr uint32_t kMaxAbove = format == Format::kF16 ? 30 - 1 : 2 * kNarrow;

  static constexpr auto kLeast = static_cast<Element>(LeastExponent<format>());

  U highest{};  // of all that were decoded, above that of the least factor; 0 for zeros

  U Decode(U32x16 word) {
    if constexpr (format == Format::kTF32) word &= 0xffffe000u;
    const U none{}, magnitude = Bits<U>(word) << 1, field = magnitude >> (kMantissa + 1);
    const U above = __builtin_elementwise_max(field, none + 1) - static_cast<Element>(kBias + kLeast);
    const auto is_zero = Bits<U>(magnitude == none);
    highest = __builtin_elementwise_max(highest, above & ~is_zero);
    return ((above + kLeast) & ~is_zero) | (is_zero & static_cast<Element>(kZero));
  }
  uint32_t Highest() const { return __builtin_reduce_max(highest); }
};

// One byte for each element of up to two words; the same ones again to fill a word.
template <Format format>
inline U32x16 Bytes(const U32x16* words, int tiles) {
  U32x16 all = words[0] & 0x00ff00ff;
  if (format == Format::kTF32) all = words[0] & 0xff;
  all |=
      tiles == 2 ? (format == Format::kTF32 ? words[1] << 8 & 0xff00 : words[1] << 8 & 0xff00ff00) : all << 8;
  return format == Format::kTF32 ? all | all << 16 : all;
}

inline I32x16 LargestOfBytes(I8x64 bytes) {
  auto word = Bits<U32x16>(bytes);
  auto largest = [&](U32x16 other) {
    return Bits<U32x16>(__builtin_elementwise_max(Bits<I8x64>(word), Bits<I8x64>(other)));
  };
  word = largest(word << 16);
  word = largest(word << 8);
  return Bits<I32x16>(word) >> 24;
}

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

}  // namespace ptx2cpu::rt::matrix
