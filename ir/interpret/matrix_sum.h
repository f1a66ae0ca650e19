// Sums of products as the tensor cores of an H100 compute them, from the bits of the factors.
#pragma once

#include <cstdint>
#include <span>

#include "ir/matrix.h"

namespace ptx2cpu::ir::interpret {

// significand * 2^(exponent - mantissa_bits), or an infinity or NaN. Numbers are not normalised: the exponent
// of a subnormal one is the smallest of its format.
struct Factor {
  enum class Kind : uint8_t { kFinite, kInfinite, kNan } kind = Kind::kFinite;
  bool negative = false;
  int exponent = 0, mantissa_bits = 0;
  uint64_t significand = 0;
  bool is_zero() const { return kind == Kind::kFinite && significand == 0; }
};
Factor DecodeFactor(matrix::Element element, uint64_t bits);
Factor ProductOf(const Factor& a, const Factor& b);
// The steps 2 and 3 of matrix_sum.cpp.
struct SumRule {
  int bits_below = 25;      // each term is cut off so far below the largest exponent
  bool to_nearest = false;  // the sum is rounded to nearest even, else toward zero
  int zero_bits = 0;        // the last ones of its mantissa, cut off after that
};
uint64_t SumOfTerms(std::span<const Factor> terms, const matrix::ElementInfo& format, const SumRule& rule);

struct FactorPair {
  uint64_t a, b;  // the bits of the elements
};

// c + the sum of a * b, in the element type of the accumulator.
//   f16, bf16, tf32: see matrix_sum.cpp. f64, and those with Combine::kChain: a chain of fused multiply-adds
//   from c, in order; the latter in f32, of bf16 the second of each pair first, of f16 rounded to f16 at the
//   end. integers: exact, then clamped or wrapped to 32 bits.
uint64_t SumOfProducts(const matrix::Product& form, std::span<const FactorPair> pairs, uint64_t c);

}  // namespace ptx2cpu::ir::interpret
