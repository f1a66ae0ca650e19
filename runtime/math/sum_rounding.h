// Rounding of the sums of matrix products.
#pragma once

#include <stdint.h>

namespace ptx2cpu::rt::math {

// A binary floating point format: sign, exponent, mantissa.
struct FloatFormat {
  int exponent_bits, mantissa_bits;
};

// value * 2^unit as bits of the format, cut off (toward zero) or rounded to nearest even. What exceeds the
// format is infinite; zero has no sign.
inline uint32_t RoundSum(const FloatFormat& format, int64_t value, int unit, bool to_nearest) {
  if (value == 0) return 0;
  const int mantissa_bits = format.mantissa_bits, bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int high = 63 - __builtin_clzll(magnitude), least = 1 - bias - mantissa_bits;
  // The exponent of the last bit that is kept.
  const int last = high + unit - mantissa_bits < least ? least : high + unit - mantissa_bits;
  const int drop = last - unit;
  uint64_t kept = 0;
  if (drop <= 0) {
    kept = magnitude << -drop;
  } else if (drop < 64) {
    kept = magnitude >> drop;
    const uint64_t rest = magnitude & ((uint64_t{1} << drop) - 1), half = uint64_t{1} << (drop - 1);
    if (to_nearest && (rest > half || (rest == half && (kept & 1) != 0))) ++kept;
  }
  if (kept == 0) return 0;
  // A carry out of the mantissa increments the exponent.
  const uint64_t one = uint64_t{1} << mantissa_bits;
  const uint64_t infinity = ((uint64_t{1} << format.exponent_bits) - 1) << mantissa_bits;
  uint64_t bits = kept;
  if (kept >= one)
    bits = (static_cast<uint64_t>(last + mantissa_bits + bias) << mantissa_bits) + (kept - one);
  if (bits > infinity) bits = infinity;
  const uint32_t sign = value < 0 ? 1u << (format.exponent_bits + mantissa_bits) : 0;
  return sign | static_cast<uint32_t>(bits);
}

}  // namespace ptx2cpu::rt::math
