// Products of f16, bf16 and tf32 as the tensor cores of an H100 compute them (ir/interpret/matrix_sum.cpp has
// the rule): 16 rows at once, one column after the other. The product of two factors is exact in f32. It is
// scaled so that what is kept of it is an integer, and added as such.
//
// Elements that are infinite or NaN are left to matrix_general.cpp.
#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_vectors.h"

extern "C" {
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX
}

namespace ptx2cpu::rt::matrix {
namespace {

enum class Format { kF16, kBF16, kTF32 };
constexpr int kColumns = 8;
constexpr int kBitsBelow = 25;
constexpr int kNoExponent = -2000;  // of zero: below that of any product
// Exponents of factors whose products and scales are normal in f32.
constexpr int kNarrow = 48;

// Elements in the low bits of words, as floats with their exponents. `special`: some are infinite or NaN.
template <Format format, typename F, typename I, typename U>
inline void Decode(U word, F& value, I& exponent, U& special) {
  const int top = format == Format::kF16 ? 31 : 255;
  U magnitude, field;
  if constexpr (format == Format::kF16) {
    magnitude = word & 0x7fff;
    field = magnitude >> 10;
    value = Bits<F>(Bits<U>(Bits<F>(magnitude << 13) * 0x1p112f) | (word & 0x8000) << 16);
  } else {
    const U bits = format == Format::kBF16 ? word << 16 : word & 0xffffe000u;
    magnitude = bits & 0x7fffffff;
    field = magnitude >> 23;
    value = Bits<F>(bits);
  }
  const I none{}, is_zero = magnitude == Bits<U>(none);
  const I e = __builtin_elementwise_max(Bits<I>(field), none + 1) - top / 2;
  exponent = (e & ~is_zero) | (is_zero & kNoExponent);
  special |= Bits<U>(field == Bits<U>(none + top));
}

template <typename I>
inline I PowerOfTwo(I exponent) {
  return (exponent + 127) << 23;
}
// A float of exponent e, not normalised if it was subnormal, times 2^-e.
template <typename F, typename I>
inline F Significand(F value, I exponent) {
  const I e = __builtin_elementwise_max(exponent, I{} - 126), half = e >> 1;
  return value * Bits<F>(PowerOfTwo(-half)) * Bits<F>(PowerOfTwo(half - e));
}

// The factors by k, of A for the rows and of B for the columns.
template <Format format, int K>
struct Factors {
  alignas(64) F32x16 a[K];
  alignas(64) I32x16 exponent_a[K];
  alignas(64) float b[K][kColumns];
  alignas(64) int32_t exponent_b[K][kColumns];
  U32x16 special_a{};
  U32x8 special_b{};

  void PutA(int k, U32x16 word) { Decode<format>(word, a[k], exponent_a[k], special_a); }
  void PutB(int k, U32x8 word) {
    F32x8 value;
    using I32x8 = int32_t __attribute__((vector_size(32)));
    I32x8 exponent;
    Decode<format>(word, value, exponent, special_b);
    __builtin_memcpy(b[k], &value, sizeof(value));
    __builtin_memcpy(exponent_b[k], &exponent, sizeof(exponent));
  }
  void Load(const uint32_t* registers_a, const uint32_t* registers_b) {
    constexpr int kTile = format == Format::kTF32 ? 4 : 8;
    for (int tile = 0; tile < K / kTile; ++tile) {
      const uint32_t *first = registers_a + tile * 64, *of_b = registers_b + tile * 32;
      ForQuarters([&]<int q>() {
        const U32x16 word_a = Column<q>(first, first + 32);
        const U32x8 word_b = Column<q>(of_b);
        if constexpr (format == Format::kTF32) {
          PutA(tile * kTile + q, word_a);
          PutB(tile * kTile + q, word_b);
        } else {
          PutA(tile * kTile + 2 * q, word_a & 0xffff);
          PutA(tile * kTile + 2 * q + 1, word_a >> 16);
          PutB(tile * kTile + 2 * q, word_b & 0xffff);
          PutB(tile * kTile + 2 * q + 1, word_b >> 16);
        }
      });
    }
  }
  bool IsSpecial() const {
    return __builtin_reduce_or(special_a) != 0 || __builtin_reduce_or(special_b) != 0;
  }
  static I32x16 Outside(I32x16 e) { return ((e > kNarrow) | (e < -kNarrow)) & (e != kNoExponent); }
  // Whether products can be taken as they are. Those of f16 always can.
  bool IsNarrow() const {
    if (format == Format::kF16) return true;
    I32x16 outside{};
    for (int k = 0; k < K; ++k) {
      I32x16 of_b = exponent_a[k];
      __builtin_memcpy(&of_b, exponent_b[k], sizeof(exponent_b[k]));
      outside |= Outside(exponent_a[k]) | Outside(of_b);
    }
    return __builtin_reduce_or(outside) == 0;
  }
};

// For each column the largest exponent of the products of each row.
template <Format format, int K>
inline void LargestExponents(const Factors<format, K>& f, I32x16* largest) {
  using I16x32 = int16_t __attribute__((vector_size(64)));
  I16x32 most[kColumns / 2];
  for (I16x32& m : most) m = I16x32{} - 8000;
#pragma clang loop unroll(disable)
  for (int k = 0; k < K; ++k) {
    const auto narrow = __builtin_convertvector(f.exponent_a[k], I16x16);
    const I16x32 a = __builtin_shufflevector(narrow, narrow, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                             15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int pair = 0; pair < kColumns / 2; ++pair) {
      const I16x16 first = I16x16{} + static_cast<int16_t>(f.exponent_b[k][2 * pair]);
      const I16x16 second = I16x16{} + static_cast<int16_t>(f.exponent_b[k][2 * pair + 1]);
      const I16x32 b =
          __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                  18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
      most[pair] = __builtin_elementwise_max(most[pair], a + b);
    }
  }
  for (int pair = 0; pair < kColumns / 2; ++pair) {
    const I16x32 m = most[pair];
    largest[2 * pair] = __builtin_convertvector(
        __builtin_shufflevector(m, m, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), I32x16);
    largest[2 * pair + 1] = __builtin_convertvector(
        __builtin_shufflevector(m, m, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31),
        I32x16);
  }
}

// -- accumulators: f32, or f16 in halves of words --

template <bool is_half>
inline void LoadColumns(const uint32_t* c, U32x16* columns) {
  ForQuarters([&]<int q>() {
    if constexpr (is_half) {
      const U32x16 pair = Column<q>(c, c + 32);
      columns[2 * q] = pair & 0xffff;
      columns[2 * q + 1] = pair >> 16;
    } else {
      columns[2 * q] = Column<q>(c, c + 64);
      columns[2 * q + 1] = Column<q>(c + 32, c + 96);
    }
  });
}

template <bool is_half>
inline void StoreColumns(uint32_t* d, const U32x16* columns) {
  if constexpr (is_half) {
    U32x16 pair[4];
    for (int q = 0; q < 4; ++q) pair[q] = columns[2 * q] | columns[2 * q + 1] << 16;
    StoreLanes<0>(d, pair[0], pair[1], pair[2], pair[3]);
    StoreLanes<1>(d + 32, pair[0], pair[1], pair[2], pair[3]);
  } else {
    for (int p = 0; p < 2; ++p) {
      StoreLanes<0>(d + 32 * p, columns[p], columns[2 + p], columns[4 + p], columns[6 + p]);
      StoreLanes<1>(d + 64 + 32 * p, columns[p], columns[2 + p], columns[4 + p], columns[6 + p]);
    }
  }
}

// -- sums --

// The sum of both as f64, which is exact, in units of 2^(largest - 25).
inline F64x16 Total(I32x16 products, I32x16 accumulator, I32x16 largest) {
  const I64x16 scale = (__builtin_convertvector(largest - kBitsBelow, I64x16) + 1023) << 52;
  return (__builtin_convertvector(products, F64x16) + __builtin_convertvector(accumulator, F64x16)) *
         Bits<F64x16>(scale);
}

constexpr uint64_t kCutBits = (uint64_t{1} << 29) - 1;  // of f64, below the last bit of f32

// Toward zero. Subnormal results are multiples of 2^-149, whose number is their bits.
template <bool may_be_subnormal>
inline U32x16 CutToF32(F64x16 value) {
  const auto kept = Bits<F64x16>(Bits<U64x16>(value) & ~kCutBits);
  const auto bits = Bits<U32x16>(__builtin_convertvector(kept, F32x16));
  if constexpr (!may_be_subnormal) return bits;
  const auto magnitude = Bits<F64x16>(Bits<U64x16>(value) & ~(uint64_t{1} << 63));
  const I64x16 is_small = magnitude < 0x1p-126;
  const auto counted = Bits<F64x16>(Bits<I64x16>(value * 0x1p149) & is_small);
  const auto count = __builtin_convertvector(counted, I32x16);
  const I32x16 negative = count < 0;
  const auto small_bits = Bits<U32x16>(((count ^ negative) - negative) | (negative & INT32_MIN));
  return Choose(__builtin_convertvector(is_small, I32x16), small_bits, bits);
}

// To nearest, ties to even: first to odd in f32, which has enough bits more.
inline U32x16 RoundToF16(F64x16 value) {
  const auto bits = Bits<U64x16>(value);
  const U64x16 sticky = Bits<U64x16>((bits & kCutBits) != 0) & (uint64_t{1} << 29);
  const auto odd = Bits<U32x16>(__builtin_convertvector(Bits<F64x16>((bits & ~kCutBits) | sticky), F32x16));
  const U32x16 sign = odd & 0x80000000u, magnitude = odd ^ sign;
  const U32x16 normal = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1)) >> 13;
  const U32x16 subnormal = Bits<U32x16>(Bits<F32x16>(magnitude) + 0.5f) - 0x3f000000u;
  U32x16 result = Choose(magnitude < 0x38800000u, subnormal, normal);
  result = Choose(magnitude >= 0x477ff000u, U32x16{} + 0x7c00u, result);
  return Choose(result == 0, U32x16{}, result | sign >> 16);
}

template <Format format, int K, bool is_half>
void MultiplyNarrow(const Factors<format, K>& f, const F32x16* c, const I32x16* exponent_c,
                    const U32x16* bits_of_c, I32x16* largest, U32x16* results) {
  constexpr int kLeast = format == Format::kF16 ? -28 : -2 * kNarrow;
  F32x16 scale[kColumns];
  I32x16 sum[kColumns], only_c[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    largest[j] = __builtin_elementwise_max(largest[j], exponent_c[j]);
    only_c[j] = largest[j] < kLeast;  // no product, and c is small or zero
    largest[j] = __builtin_elementwise_max(largest[j], I32x16{} + kLeast);
    scale[j] = Bits<F32x16>(PowerOfTwo(kBitsBelow - largest[j]));
    sum[j] = I32x16{};
  }
#pragma clang loop unroll(disable)
  for (int k = 0; k < K; ++k) {
    const F32x16 a = f.a[k];
#pragma clang loop unroll(full)
    for (int j = 0; j < kColumns; ++j) sum[j] += __builtin_convertvector(a * f.b[k][j] * scale[j], I32x16);
  }
  for (int j = 0; j < kColumns; ++j) {
    const auto own = __builtin_convertvector(Choose(only_c[j], F32x16{}, c[j]) * scale[j], I32x16);
    const F64x16 total = Total(sum[j], own, largest[j]);
    if constexpr (is_half) {
      results[j] = RoundToF16(total);
    } else {
      results[j] = Choose(only_c[j] & (exponent_c[j] != kNoExponent), bits_of_c[j], CutToF32<false>(total));
    }
  }
}

// Factors of any exponent: significands are multiplied, and the scale of each product is its own.
template <Format format, int K>
void MultiplyWide(Factors<format, K>& f, const F32x16* c, const I32x16* exponent_c, I32x16* largest,
                  U32x16* results) {
  for (int k = 0; k < K; ++k) {
    f.a[k] = Significand(f.a[k], f.exponent_a[k]);
    F32x16 value{};
    I32x16 exponent{};
    __builtin_memcpy(&value, f.b[k], sizeof(f.b[k]));
    __builtin_memcpy(&exponent, f.exponent_b[k], sizeof(f.exponent_b[k]));
    value = Significand(value, exponent);
    __builtin_memcpy(f.b[k], &value, sizeof(f.b[k]));
  }
  auto scaled = [](F32x16 value, I32x16 field) {
    return __builtin_convertvector(value * Bits<F32x16>(__builtin_elementwise_max(field, I32x16{}) << 23),
                                   I32x16);
  };
  I32x16 sum[kColumns], shift[kColumns];
  for (int j = 0; j < kColumns; ++j) {
    largest[j] =
        __builtin_elementwise_max(__builtin_elementwise_max(largest[j], exponent_c[j]), I32x16{} - 252);
    shift[j] = 127 + kBitsBelow - largest[j];
    sum[j] = I32x16{};
  }
#pragma clang loop unroll(disable)
  for (int k = 0; k < K; ++k) {
    const F32x16 a = f.a[k];
    const I32x16 exponent = f.exponent_a[k];
#pragma clang loop unroll(full)
    for (int j = 0; j < kColumns; ++j)
      sum[j] += scaled(a * f.b[k][j], exponent + shift[j] + f.exponent_b[k][j]);
  }
  for (int j = 0; j < kColumns; ++j) {
    const I32x16 own = scaled(Significand(c[j], exponent_c[j]), exponent_c[j] + shift[j]);
    results[j] = CutToF32<true>(Total(sum[j], own, largest[j]));
  }
}

template <Format format, int K, bool is_half>
inline void Multiply(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t form) {
  Factors<format, K> factors;
  factors.Load(a, b);
  U32x16 bits_of_c[kColumns], special{};
  F32x16 value_c[kColumns];
  I32x16 exponent_c[kColumns], largest[kColumns];
  LoadColumns<is_half>(c, bits_of_c);
  for (int j = 0; j < kColumns; ++j) {
    if constexpr (is_half) {
      Decode<Format::kF16>(bits_of_c[j], value_c[j], exponent_c[j], special);
    } else {
      const U32x16 magnitude = bits_of_c[j] & 0x7fffffff, field = magnitude >> 23;
      value_c[j] = Bits<F32x16>(bits_of_c[j]);
      const I32x16 is_zero = magnitude == 0;
      exponent_c[j] = Choose(is_zero, I32x16{} + kNoExponent,
                             __builtin_elementwise_max(Bits<I32x16>(field), I32x16{} + 1) - 127);
      special |= Bits<U32x16>(field == 255);
    }
  }
  if (factors.IsSpecial() || __builtin_reduce_or(special) != 0)
    return ptx2cpu_matrix_general(d, a, b, c, nullptr, form);
  LargestExponents(factors, largest);
  U32x16 results[kColumns];
  if (format == Format::kF16 || factors.IsNarrow()) {
    MultiplyNarrow<format, K, is_half>(factors, value_c, exponent_c, bits_of_c, largest, results);
  } else if constexpr (!is_half) {
    MultiplyWide(factors, value_c, exponent_c, largest, results);
  }
  StoreColumns<is_half>(d, results);
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

using ptx2cpu::rt::matrix::Format;
using ptx2cpu::rt::matrix::Multiply;

extern "C" {
#define PRODUCT(name, format, depth, is_half)                                                      \
  void name(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, const uint32_t*, \
            uint32_t form) {                                                                       \
    Multiply<Format::format, depth, is_half>(d, a, b, c, form);                                    \
  }
PRODUCT(ptx2cpu_matrix_f16_k8_f32, kF16, 8, false)
PRODUCT(ptx2cpu_matrix_f16_k16_f32, kF16, 16, false)
PRODUCT(ptx2cpu_matrix_f16_k8_f16, kF16, 8, true)
PRODUCT(ptx2cpu_matrix_f16_k16_f16, kF16, 16, true)
PRODUCT(ptx2cpu_matrix_bf16_k8, kBF16, 8, false)
PRODUCT(ptx2cpu_matrix_bf16_k16, kBF16, 16, false)
PRODUCT(ptx2cpu_matrix_tf32_k4, kTF32, 4, false)
PRODUCT(ptx2cpu_matrix_tf32_k8, kTF32, 8, false)
#undef PRODUCT
}
