// Sums of products as the tensor cores of an H100 compute them, from the bits of the factors.
#pragma once

#include <cstdint>
#include <span>

#include "ir/matrix.h"

namespace ptx2cpu::ir::interpret {

struct FactorPair {
  uint64_t a, b;  // the bits of the elements
};

// c + the sum of a * b, in the element type of the accumulator.
//   f16, bf16, tf32: see matrix_sum.cpp. f64, and those with Combine::kChain: a chain of fused multiply-adds
//   from c, in order; the latter in f32, of bf16 the second of each pair first, of f16 rounded to f16 at the
//   end. integers: exact, then clamped or wrapped to 32 bits.
uint64_t SumOfProducts(const matrix::Product& form, std::span<const FactorPair> pairs, uint64_t c);

}  // namespace ptx2cpu::ir::interpret
