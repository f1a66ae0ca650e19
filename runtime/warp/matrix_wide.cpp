// Products of bf16 and tf32 of any exponents, by the rule of matrix_float.cpp: 16 rows at once, one column
// after the other. Significands are multiplied, and the scale of each product is its own.
//
// Elements that are infinite or NaN are left to matrix_general.cpp.
#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_decode.h"
#include "runtime/warp/matrix_sums.h"

extern "C" {
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX
}

namespace ptx2cpu::rt::matrix {
namespace {

constexpr int kColumns = 8;
constexpr int kNoExponent = -2000;  // of zero: below that of any product

// Elements in the low bits of words, as floats with their exponents. `special`: some are infinite or NaN.
template <Format format, typename F, typename I, typename U>
inline void Decode(U word, F& value, I& exponent, U& special) {
  const U bits = format == Format::kBF16 ? word << 16 : format == Format::kTF32 ? word & 0xffffe000u : word;
  const U magnitude = bits & 0x7fffffff, field = magnitude >> 23;
  value = Bits<F>(bits);
  const I none{}, is_zero = magnitude == Bits<U>(none);
  const I e = __builtin_elementwise_max(Bits<I>(field), none + 1) - 127;
  exponent = (e & ~is_zero) | (is_zero & kNoExponent);
  special |= Bits<U>(field == Bits<U>(none + 255));
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

// -- accumulators --

inline void LoadColumns(const uint32_t* c, U32x16* columns) {
  ForQuarters([&]<int q>() {
    columns[2 * q] = Column<q>(c, c + 64);
    columns[2 * q + 1] = Column<q>(c + 32, c + 96);
  });
}

inline void StoreColumns(uint32_t* d, const U32x16* columns) {
  for (int p = 0; p < 2; ++p) {
    StoreLanes<0>(d + 32 * p, columns[p], columns[2 + p], columns[4 + p], columns[6 + p]);
    StoreLanes<1>(d + 64 + 32 * p, columns[p], columns[2 + p], columns[4 + p], columns[6 + p]);
  }
}

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

template <Format format, int K>
inline void Multiply(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t form) {
  Factors<format, K> factors;
  factors.Load(a, b);
  U32x16 bits_of_c[kColumns], special{};
  F32x16 value_c[kColumns];
  I32x16 exponent_c[kColumns], largest[kColumns];
  LoadColumns(c, bits_of_c);
  for (int j = 0; j < kColumns; ++j) Decode<Format::kF32>(bits_of_c[j], value_c[j], exponent_c[j], special);
  if (factors.IsSpecial() || __builtin_reduce_or(special) != 0)
    return ptx2cpu_matrix_general(d, a, b, c, nullptr, form);
  LargestExponents(factors, largest);
  U32x16 results[kColumns];
  MultiplyWide(factors, value_c, exponent_c, largest, results);
  StoreColumns(d, results);
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

using ptx2cpu::rt::matrix::Format;
using ptx2cpu::rt::matrix::Multiply;

extern "C" {
#define PRODUCT(name, format, depth)                                                               \
  void name(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, const uint32_t*, \
            uint32_t form) {                                                                       \
    Multiply<Format::format, depth>(d, a, b, c, form);                                             \
  }
PRODUCT(ptx2cpu_matrix_wide_bf16_k8, kBF16, 8)
PRODUCT(ptx2cpu_matrix_wide_bf16_k16, kBF16, 16)
PRODUCT(ptx2cpu_matrix_wide_tf32_k4, kTF32, 4)
PRODUCT(ptx2cpu_matrix_wide_tf32_k8, kTF32, 8)
#undef PRODUCT
}
