#include "tools/record/small_float.h"

#include <cmath>

namespace ptx2cpu::rt {

uint32_t EncodeSmallFloat(double value, FloatFormat format) {
  const int mantissa_bits = format.mantissa_bits;
  const uint32_t sign = (std::signbit(value) ? 1u : 0u) << (format.exponent_bits + mantissa_bits);
  const uint32_t infinity = ((1u << format.exponent_bits) - 1) << mantissa_bits;
  if (std::isnan(value)) return (1u << (format.exponent_bits + mantissa_bits)) - 1;
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  if (magnitude == 0.0) return sign;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = fraction * 2^exponent, fraction in [0.5, 1)
  exponent -= 1;
  if (exponent < 1 - bias) exponent = 1 - bias;  // denormal: fixed scale
  // Both the scaling and rint are exact or correctly rounded: at most mantissa_bits + 1 bits stay above the
  // point.
  const double units = std::rint(std::ldexp(magnitude, mantissa_bits - exponent));
  // A carry out of the mantissa increments the exponent field; units without the hidden bit are
  // denormals.
  const uint64_t encoded =
      (static_cast<uint64_t>(exponent + bias - 1) << mantissa_bits) + static_cast<uint64_t>(units);
  return sign | (encoded >= infinity ? infinity : static_cast<uint32_t>(encoded));
}

double DecodeSmallFloat(uint32_t bits, FloatFormat format) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const int field = static_cast<int>(bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1));
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  double magnitude;
  if (field == (1 << format.exponent_bits) - 1) {
    magnitude = mantissa ? NAN : INFINITY;
  } else if (field == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  } else {
    magnitude =
        std::ldexp(mantissa + std::ldexp(1.0, format.mantissa_bits), field - bias - format.mantissa_bits);
  }
  return bits >> (format.exponent_bits + format.mantissa_bits) & 1 ? -magnitude : magnitude;
}

}  // namespace ptx2cpu::rt
