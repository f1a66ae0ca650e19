// Conversions between double and the IEEE-like formats of at most 32 bits that C++ has no type for.
#pragma once

#include <cstdint>

namespace ptx2cpu::rt {

// A binary format: sign, exponent_bits (IEEE bias, denormals, infinities), mantissa_bits.
struct FloatFormat {
  uint8_t exponent_bits;
  uint8_t mantissa_bits;
};
inline constexpr FloatFormat kHalf{5, 10};
inline constexpr FloatFormat kBfloat16{8, 7};

// Round to nearest even; NaN becomes the canonical NaN of PTX (all bits set except the sign).
uint32_t EncodeSmallFloat(double value, FloatFormat format);
// Exact.
double DecodeSmallFloat(uint32_t bits, FloatFormat format);

}  // namespace ptx2cpu::rt
