// How small 32-bit values can be as floats of 32 bits: what .ftz need not flush.
//
//   acc = 0 ; do { acc = fma.ftz(f16 as f32, f16 as f32, acc) } ...   no operand is ever subnormal, nor is
//   the product of two numbers that were f16 or integers
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// A value is zero, infinite, NaN, or has a magnitude of 2^e at least.
using LeastExponent = int16_t;
inline constexpr LeastExponent kAnyExponent = -149;  // of the least subnormal number
inline constexpr LeastExponent kLeastNormal = -126;  // from here on no value is subnormal
inline constexpr LeastExponent kNoExponent = 128;    // zero, infinite or NaN

// The least exponent of a product before the product is flushed; the factors have been flushed where .ftz
// requires it.
LeastExponent LeastOfProduct(LeastExponent x, LeastExponent y);

// By value; kAnyExponent for values of other widths. Empty where no operation on f32 has .ftz.
std::vector<LeastExponent> FindLeastExponents(const ir::Function& f);

// The same for units: a value is infinite, NaN, or a multiple of 2^e. Sums are multiples of their operands'
// units, so none of
//
//   acc = 0 ; do { acc = fma.ftz(f16 as f32, integer as f32, acc) } ...
//
// is subnormal: from kLeastNormal on, a multiple is zero or normal.
std::vector<LeastExponent> FindUnits(const ir::Function& f);

}  // namespace ptx2cpu::analysis
