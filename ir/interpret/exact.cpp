#include "ir/interpret/exact.h"

#include <algorithm>
#include <bit>

#include "ir/result.h"

namespace ptx2cpu::ir::interpret {

namespace {

Bits128 LowMask(int bits) { return bits >= 128 ? ~Bits128{0} : (Bits128{1} << bits) - 1; }

// Whether the magnitude grows by one unit after its bits below `shift` were cut off.
bool RoundsAway(const Number& number, int shift, bool kept_odd, const RoundingRule& rule) {
  Bits128 rest = number.significand & LowMask(shift);
  bool inexact = rest != 0 || number.sticky;
  if (!inexact) return false;
  bool half = shift >= 1 && shift <= 128 && ((rest >> (shift - 1)) & 1) != 0;
  bool below_half = shift >= 1 && ((rest & LowMask(shift - 1)) != 0 || number.sticky);
  switch (rule.mode) {
    case Rounding::kTowardZero:
      return false;
    case Rounding::kDown:
      return number.negative;
    case Rounding::kUp:
      return !number.negative;
    case Rounding::kNearestAway:
      return half;
    case Rounding::kStochastic: {
      int n = rule.random_bits;
      Bits128 first = shift >= n ? (shift - n >= 128 ? 0 : rest >> (shift - n)) : rest << (n - shift);
      return first + (rule.random & LowMask(n)) > LowMask(n);
    }
    case Rounding::kNone:
    case Rounding::kNearestEven:
      break;
  }
  return half && (below_half || kept_odd);
}

// The magnitude in units of 2^unit, rounded.
Bits128 RoundAtUnit(const Number& number, int unit, const RoundingRule& rule) {
  int shift = unit - number.exponent;
  if (shift <= 0) {
    CHECK(!number.sticky, "a sticky number needs bits below the rounding position");
    CHECK(BitLength(number.significand) - shift <= 128);
    return number.significand << -shift;
  }
  Bits128 kept = shift >= 128 ? 0 : number.significand >> shift;
  return kept + (RoundsAway(number, shift, (kept & 1) != 0, rule) ? 1 : 0);
}

// Is the number, rounded to all bits of the format with any exponent, below the least normal one?
bool IsBelowNormal(const Format& format, const Number& number, const RoundingRule& rule) {
  const int precision = format.fraction_bits + 1, top = BitLength(number.significand) + number.exponent;
  const int least_top = 2 - format.bias;  // of 2^(1 - bias)
  if (top != least_top - 1) return top < least_top;
  return RoundAtUnit(number, top - precision, rule) >> precision == 0;  // no carry into the next power
}

uint64_t EncodeOverflow(const Format& format, bool negative, const RoundingRule& rule) {
  bool stays_finite = rule.saturate_finite || rule.mode == Rounding::kTowardZero ||
                      rule.mode == (negative ? Rounding::kUp : Rounding::kDown);
  if (stays_finite) return format.largest;
  if (format.has_infinity) return format.largest + 1;
  return format.has_nan ? format.nan >> format.unused_bits : format.largest;
}

// Shifts the significand so that its highest one is bit 125: room for a carry, and the most bits below.
Number Normalised(Number number) {
  int shift = 126 - BitLength(number.significand);
  CHECK(shift >= 0 && !number.sticky);
  number.significand <<= shift;
  number.exponent -= shift;
  return number;
}

Number Nan() { return {.kind = Number::Kind::kNan}; }
Number Zero(bool negative) { return {.kind = Number::Kind::kZero, .negative = negative}; }
Number Infinite(bool negative) { return {.kind = Number::Kind::kInfinite, .negative = negative}; }

}  // namespace

int BitLength(Bits128 value) {
  uint64_t high = static_cast<uint64_t>(value >> 64);
  if (high != 0) return 128 - std::countl_zero(high);
  return 64 - std::countl_zero(static_cast<uint64_t>(value));
}

Number Decode(const Format& format, uint64_t bits) {
  bool negative = (bits & format.sign_bit) != 0;
  uint64_t magnitude = (bits & (format.sign_bit - 1)) >> format.unused_bits;
  if (magnitude > format.largest) {
    return format.has_infinity && magnitude == format.largest + 1 ? Infinite(negative) : Nan();
  }
  if (magnitude == 0) return Zero(negative);
  uint64_t fraction = magnitude & ((uint64_t{1} << format.fraction_bits) - 1);
  int field = static_cast<int>(magnitude >> format.fraction_bits);
  Number number{.kind = Number::Kind::kFinite, .negative = negative};
  number.significand = field == 0 ? fraction : fraction | (uint64_t{1} << format.fraction_bits);
  number.exponent = std::max(field, 1) - format.bias - format.fraction_bits;
  return number;
}

Number FromInteger(Bits128 magnitude, bool negative) {
  if (magnitude == 0) return Zero(false);
  return {.kind = Number::Kind::kFinite, .negative = negative, .significand = magnitude};
}

uint64_t Encode(const Format& format, const Number& number, const RoundingRule& rule) {
  uint64_t sign = number.negative ? format.sign_bit : 0;
  if (number.is_nan()) return format.nan;
  if (number.is_zero()) return sign;
  if (number.is_infinite()) {
    RoundingRule toward_infinity{.saturate_finite = rule.saturate_finite};
    return sign | EncodeOverflow(format, number.negative, toward_infinity) << format.unused_bits;
  }
  if (rule.flush && IsBelowNormal(format, number, rule)) return sign;
  int precision = format.fraction_bits + 1;
  int smallest_unit = 1 - format.bias - format.fraction_bits;
  int top = BitLength(number.significand) + number.exponent;
  int unit = std::max(top - precision, smallest_unit);
  if (top > 2 * format.bias + 4) {  // far beyond the largest: no encoding to compute
    return sign | EncodeOverflow(format, number.negative, rule) << format.unused_bits;
  }
  uint64_t kept = static_cast<uint64_t>(RoundAtUnit(number, unit, rule));
  if (kept >> precision != 0) {  // the carry made one more bit: a power of two
    kept >>= 1;
    ++unit;
  }
  // A subnormal has unit == smallest_unit and no bit at fraction_bits, so that the same sum is its field
  // 0.
  uint64_t field = static_cast<uint64_t>(unit - smallest_unit);
  uint64_t magnitude = (field << format.fraction_bits) + kept;
  if (magnitude > format.largest) magnitude = EncodeOverflow(format, number.negative, rule);
  return sign | magnitude << format.unused_bits;
}

bool RoundToInteger(const Number& number, Rounding mode, Bits128* magnitude) {
  *magnitude = 0;
  if (number.is_zero()) return true;
  if (!number.is_finite() || BitLength(number.significand) + number.exponent > 126) return false;
  *magnitude = RoundAtUnit(number, 0, {.mode = mode});
  return true;
}

Number Add(const Number& a, const Number& b, Rounding mode) {
  if (a.is_nan() || b.is_nan()) return Nan();
  if (a.is_infinite() || b.is_infinite()) {
    if (a.is_infinite() && b.is_infinite() && a.negative != b.negative) return Nan();
    return Infinite(a.is_infinite() ? a.negative : b.negative);
  }
  bool cancelled_sign = mode == Rounding::kDown;
  if (a.is_zero() && b.is_zero()) return Zero(a.negative == b.negative ? a.negative : cancelled_sign);
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  Number large = Normalised(a), small = Normalised(b);
  if (large.exponent < small.exponent) std::swap(large, small);
  int distance = large.exponent - small.exponent;
  bool sticky = distance >= 128 || (small.significand & LowMask(distance)) != 0;
  small.significand = distance >= 128 ? 0 : small.significand >> distance;
  Number sum = large;
  sum.sticky = sticky;
  if (a.negative == b.negative) {
    sum.significand = large.significand + small.significand;
  } else if (large.significand >= small.significand) {
    // large - (small + something below one unit) = (large - small - 1) + something below one unit
    sum.significand = large.significand - small.significand - (sticky ? 1 : 0);
  } else {  // same exponent, nothing was cut off
    sum.negative = small.negative;
    sum.significand = small.significand - large.significand;
  }
  if (sum.significand == 0) return Zero(cancelled_sign);
  return sum;
}

Number Multiply(const Number& a, const Number& b) {
  bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return Nan();
  if (a.is_infinite() || b.is_infinite()) return a.is_zero() || b.is_zero() ? Nan() : Infinite(negative);
  if (a.is_zero() || b.is_zero()) return Zero(negative);
  CHECK(BitLength(a.significand) + BitLength(b.significand) <= 128 && !a.sticky && !b.sticky);
  return {.kind = Number::Kind::kFinite,
          .negative = negative,
          .significand = a.significand * b.significand,
          .exponent = a.exponent + b.exponent};
}

Number Divide(const Number& a, const Number& b) {
  bool negative = a.negative != b.negative;
  if (a.is_nan() || b.is_nan()) return Nan();
  if (a.is_infinite()) return b.is_infinite() ? Nan() : Infinite(negative);
  if (b.is_infinite()) return Zero(negative);
  if (b.is_zero()) return a.is_zero() ? Nan() : Infinite(negative);
  if (a.is_zero()) return Zero(negative);
  CHECK(BitLength(b.significand) <= 64);  // leaves at least 62 bits of quotient
  Number dividend = Normalised(a);
  return {.kind = Number::Kind::kFinite,
          .negative = negative,
          .sticky = dividend.significand % b.significand != 0,
          .significand = dividend.significand / b.significand,
          .exponent = dividend.exponent - b.exponent};
}

Number SquareRoot(const Number& a) {
  if (a.is_nan() || a.is_zero()) return a;
  if (a.negative) return Nan();
  if (a.is_infinite()) return a;
  Number square = Normalised(a);
  if (square.exponent % 2 != 0) {
    square.significand <<= 1;
    --square.exponent;
  }
  Bits128 root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    Bits128 trial = root | Bits128{1} << bit;
    if (trial * trial <= square.significand) root = trial;
  }
  return {.kind = Number::Kind::kFinite,
          .sticky = root * root != square.significand,
          .significand = root,
          .exponent = square.exponent / 2};
}

Number Negate(Number a) {
  a.negative = !a.negative;
  return a;
}

int CompareNumbers(const Number& a, const Number& b) {
  auto rank = [](const Number& n) { return n.is_infinite() ? (n.negative ? -1 : 1) : 0; };
  if (rank(a) != 0 || rank(b) != 0) return rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0;
  Number difference = Add(a, Negate(b), Rounding::kNearestEven);
  if (difference.is_zero()) return 0;
  return difference.negative ? -1 : 1;
}

double ToDouble(const Number& number) {
  return std::bit_cast<double>(Encode(FormatOf(Type::kF64), number, {.mode = Rounding::kNearestEven}));
}

Number FromDouble(double value) { return Decode(FormatOf(Type::kF64), std::bit_cast<uint64_t>(value)); }

bool IsSubnormal(const Format& format, uint64_t bits) {
  uint64_t magnitude = (bits & (format.sign_bit - 1)) >> format.unused_bits;
  return magnitude != 0 && magnitude >> format.fraction_bits == 0;
}

bool IsNan(const Format& format, uint64_t bits) { return Decode(format, bits).is_nan(); }
bool IsInfinite(const Format& format, uint64_t bits) { return Decode(format, bits).is_infinite(); }

uint64_t FlushSubnormal(const Format& format, uint64_t bits) {
  return IsSubnormal(format, bits) ? bits & format.sign_bit : bits;
}

}  // namespace ptx2cpu::ir::interpret
