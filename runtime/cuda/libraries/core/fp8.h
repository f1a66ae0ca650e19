// Values of 8 bits as floats, and back, rounding to nearest even; what is too large becomes the largest.
#pragma once

#include "runtime/cuda/libraries/core/narrow.h"

namespace ptx2cpu::libraries {

// E4M3 has no infinity, its largest exponent with all bits set is NaN; E5M2 is half of a half.
struct Fp8E4m3 {
  uint8_t bits;
};
struct Fp8E5m2 {
  uint8_t bits;
};
inline float ToFloat(Fp8E5m2 value) { return ToFloat(cuda::__half{static_cast<uint16_t>(value.bits << 8)}); }
inline float ToFloat(Fp8E4m3 value) {
  const uint32_t magnitude = value.bits & 0x7fu, sign = uint32_t{value.bits & 0x80u} << 24;
  const uint32_t bits = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 20) * 0x1p120f);
  return std::bit_cast<float>((magnitude == 0x7fu ? 0x7fc00000u : bits) | sign);
}

// Rounds to `kBits` bits of fraction, at least 2^kLeast apart, and to `largest` what is larger: NaN stays.
template <int kBits, int kLeast>
float RoundToFew(float magnitude, float largest) {
  if (!(magnitude < largest)) return magnitude >= largest ? largest : magnitude;
  const int exponent = static_cast<int>(std::bit_cast<uint32_t>(magnitude) >> 23) - 127 - kBits;
  const float unit =
      std::bit_cast<float>(static_cast<uint32_t>((exponent < kLeast ? kLeast : exponent) + 127) << 23);
  const float shifter = unit * 0x1.8p23f;
  const float rounded = (magnitude + shifter) - shifter;  // to nearest even
  return rounded > largest ? largest : rounded;
}
inline void FromFloat(float value, Fp8E4m3& to) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const float rounded = RoundToFew<3, -9>(std::bit_cast<float>(bits & 0x7fffffffu), 448.0f);
  const uint32_t scaled = std::bit_cast<uint32_t>(rounded * 0x1p-120f) >> 20;
  to.bits = static_cast<uint8_t>((rounded != rounded ? 0x7fu : scaled) | (bits >> 24 & 0x80u));
}
inline void FromFloat(float value, Fp8E5m2& to) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const float rounded = RoundToFew<2, -16>(std::bit_cast<float>(bits & 0x7fffffffu), 57344.0f);
  const uint32_t scaled = std::bit_cast<uint32_t>(rounded * 0x1p-112f) >> 21;
  to.bits = static_cast<uint8_t>((rounded != rounded ? 0x7fu : scaled) | (bits >> 24 & 0x80u));
}

}  // namespace ptx2cpu::libraries
