// Codings of small floats, with one rounding; find-nth-set.
#include <stdint.h>

extern "C" {
#define MATH(result, name, parameters, code, meaning) result name parameters;
#include "runtime/math/math.def"
#undef MATH
}

namespace {

// The numbers of ir::NarrowFormat and ir::Rounding; the emitter passes them as constants.
enum : uint32_t { kTF32 = 1, kE4M3, kE5M2, kE2M3, kE3M2, kE2M1, kUE8M0, kF16 = 100 };
enum : uint32_t { kNearestEven = 1, kTowardZero, kDown, kUp, kNearestAway, kStochastic };

struct Format {
  int32_t fraction_bits, bias, unused_bits;
  bool has_infinity, has_nan;
  uint32_t largest, nan, sign_bit;  // `largest` without the unused bits, the others in the storage
};

inline Format FormatOf(uint32_t format) {
  switch (format) {
    case kTF32:
      return {10, 127, 13, true, true, 0x3FBFF, 0x7FFFE000, 0x80000000};
    case kE4M3:
      return {3, 7, 0, false, true, 0x7E, 0x7F, 0x80};
    case kE5M2:
      return {2, 15, 0, true, true, 0x7B, 0x7F, 0x80};
    case kE2M3:
      return {3, 1, 0, false, false, 0x1F, 0x1F, 0x20};
    case kE3M2:
      return {2, 3, 0, false, false, 0x1F, 0x1F, 0x20};
    case kE2M1:
      return {1, 1, 0, false, false, 0x7, 0x7, 0x8};
    default:
      return {10, 15, 0, true, true, 0x7BFF, 0x7FFF, 0x8000};  // f16
  }
}

inline float FloatOf(uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline bool RoundsAway(uint64_t rest, uint32_t shift, bool odd, bool negative, uint32_t rounding,
                       uint32_t random, uint32_t random_bits) {
  const uint64_t half = uint64_t{1} << (shift - 1);
  if (rest == 0) return false;
  if (rounding == kTowardZero) return false;
  if (rounding == kDown) return negative;
  if (rounding == kUp) return !negative;
  if (rounding == kNearestAway) return rest >= half;
  if (rounding == kStochastic) {
    const uint64_t first =
        shift >= random_bits ? rest >> (shift - random_bits) : rest << (random_bits - shift);
    return (first + random) >> random_bits != 0;
  }
  return rest > half || (rest == half && odd);
}

inline uint32_t Encode(uint32_t bits, const Format& format, uint32_t rounding, bool saturate, uint32_t random,
                       uint32_t random_bits) {
  const bool negative = bits >> 31 != 0;
  const uint32_t sign = negative ? format.sign_bit : 0, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return format.nan;
  const bool infinite = magnitude == 0x7F800000;
  const int32_t field = static_cast<int32_t>(magnitude >> 23);
  const uint64_t significand = field == 0 ? magnitude : (magnitude & 0x7FFFFF) | 0x800000;
  const int32_t exponent = (field == 0 ? 1 : field) - 150;
  if (significand == 0) return sign;
  const int32_t top = exponent + 63 - __builtin_clzll(significand), lowest = 1 - format.bias;
  const int32_t unit = (top > lowest ? top : lowest) - format.fraction_bits;
  // At least 13 bits of an f32 go; beyond 60 nothing but "not zero" is left of it.
  const uint32_t shift = unit - exponent > 60 ? 60u : static_cast<uint32_t>(unit - exponent);
  const uint64_t kept = significand >> shift, rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t away =
      RoundsAway(rest, shift, (kept & 1) != 0, negative, rounding, random, random_bits) ? 1 : 0;
  uint64_t code =
      kept + away +
      (static_cast<uint64_t>(unit + format.fraction_bits + format.bias - 1) << format.fraction_bits);
  if (infinite || code > format.largest) {
    const bool stays =
        saturate || (!infinite && (rounding == kTowardZero || rounding == (negative ? kUp : kDown)));
    code = format.largest;
    if (!stays && format.has_infinity) code = format.largest + 1;
    if (!stays && !format.has_infinity && format.has_nan) code = format.nan;
  }
  return sign | static_cast<uint32_t>(code << format.unused_bits);
}

// ue8m0 holds the powers of two 2^-127 .. 2^127 of magnitudes; below the smallest comes the smallest.
inline uint32_t EncodeUE8M0(uint32_t bits, uint32_t rounding, bool saturate) {
  const uint32_t magnitude = bits & 0x7FFFFFFF, overflow = saturate ? 0xFE : 0xFF;
  if (magnitude > 0x7F800000) return 0xFF;
  if (magnitude == 0x7F800000) return overflow;
  // 2^-127 is the subnormal 0x00400000.
  if (magnitude <= 0x00400000) return 0;
  const uint32_t field = magnitude >> 23;
  const bool exact = field != 0 && (magnitude & 0x7FFFFF) == 0;
  const uint32_t code = field + (!exact && rounding == kUp ? 1 : 0);
  return code > 0xFE ? overflow : code;
}

}  // namespace

extern "C" {

uint32_t ptx2cpu_to_narrow(uint32_t f32_bits, uint32_t format, uint32_t rounding, uint32_t saturate_finite,
                           uint32_t relu, uint32_t random, uint32_t random_bits) {
  if (format == kUE8M0) return EncodeUE8M0(f32_bits, rounding, saturate_finite != 0);
  if (relu != 0 && f32_bits >= 0x80000000 && f32_bits <= 0xFF800000) return 0;
  if (format == kTF32 && rounding == kNearestAway && (f32_bits & 0x7FFFFFFF) > 0x7F800000) {
    // An H200 cuts the bits off, and .satfinite steps back by one unit, as if infinity had been exceeded.
    return (f32_bits & ~0x1FFFu) - (saturate_finite != 0 ? 0x2000u : 0u);
  }
  return Encode(f32_bits, FormatOf(format), rounding, saturate_finite != 0, random, random_bits);
}

float ptx2cpu_from_narrow(uint32_t bits, uint32_t format) {
  if (format == kUE8M0) {
    if (bits == 0xFF) return FloatOf(0x7FFFFFFF);
    return FloatOf(bits == 0 ? 0x00400000 : bits << 23);
  }
  const Format f = FormatOf(format);
  const uint32_t sign = (bits & f.sign_bit) != 0 ? 0x80000000 : 0;
  const uint32_t magnitude = (bits & (f.sign_bit - 1)) >> f.unused_bits;
  if (magnitude > f.largest)
    return f.has_infinity && magnitude == f.largest + 1 ? FloatOf(sign | 0x7F800000) : FloatOf(0x7FFFFFFF);
  const int32_t field = static_cast<int32_t>(magnitude >> f.fraction_bits);
  const uint32_t fraction = magnitude & ((1u << f.fraction_bits) - 1);
  const uint32_t significand = field == 0 ? fraction : fraction | 1u << f.fraction_bits;
  const int32_t exponent =
      (field == 0 ? 1 : field) - f.bias - f.fraction_bits;  // of the significand's last bit
  // Two factors, because tf32 reaches below the normal floats.
  const int32_t half = exponent / 2;
  const float scaled = static_cast<float>(significand) * FloatOf(static_cast<uint32_t>(half + 127) << 23) *
                       FloatOf(static_cast<uint32_t>(exponent - half + 127) << 23);
  return FloatOf(__builtin_bit_cast(uint32_t, scaled) | sign);
}

float ptx2cpu_f16_to_f32(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
  const float finite = FloatOf(magnitude << 13) * 0x1p112f;  // moves the bias, also of subnormals
  uint32_t result = __builtin_bit_cast(uint32_t, finite);
  if (magnitude >= 0x7C00) result = magnitude << 13 | 0x7F800000;
  return FloatOf(result | sign);
}

uint32_t ptx2cpu_f32_to_f16(float x) {
  return Encode(__builtin_bit_cast(uint32_t, x), FormatOf(kF16), kNearestEven, false, 0, 0);
}

uint32_t ptx2cpu_fns(uint32_t mask, uint32_t base, uint32_t offset) {
  const int32_t wanted = static_cast<int32_t>(offset);
  if (wanted == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~0u;
  if (wanted == INT32_MIN) return 0;  // its negation overflows; an H200 returns 0 for every mask
  const int64_t step = wanted < 0 ? -1 : 1;
  int64_t remaining = (wanted < 0 ? -int64_t{wanted} : int64_t{wanted}) - 1;
  for (int64_t position = base; position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1) != 0 && remaining-- == 0) return static_cast<uint32_t>(position);
  }
  return ~0u;
}

}  // extern "C"
