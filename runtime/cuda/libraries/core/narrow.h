// Values of 16 and 8 bits as floats, and back, rounding to nearest even; arrays of them as vector code.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/cuda/abi/library_types.h"

namespace ptx2cpu::libraries {

// The exponent's bias differs: a shift and a product with a power of two convert all but infinities and NaN.
inline float ToFloat(cuda::__half value) {
  const uint32_t magnitude = value.bits & 0x7fffu;
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special |
                              (uint32_t{value.bits} & 0x8000u) << 16);
}
inline float ToFloat(cuda::__nv_bfloat16 value) { return std::bit_cast<float>(uint32_t{value.bits} << 16); }

inline void FromFloat(float value, cuda::__nv_bfloat16& to) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  to.bits = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
}
inline void FromFloat(float value, cuda::__half& to) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  // Below 2^-14 the sum with a power of two leaves the subnormal's bits, rounded, at the end.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  const uint32_t large = magnitude > 0x7f800000u ? 0x7fffu : 0x7c00u;
  const uint32_t result = magnitude >= 0x47800000u ? large : magnitude < 0x38800000u ? small : normal;
  to.bits = static_cast<uint16_t>(result | (magnitude > 0x7f800000u ? 0 : sign));
}

}  // namespace ptx2cpu::libraries
