// Exact binary numbers and the one rounding function of the interpreter.
//
// Every float operation is done on numbers that are exact (or exact up to a sticky bit far below the
// precision of any format) and rounded once, for every format and every rounding mode by the same code. No
// host floating point is involved, so the host's rounding mode, flush-to-zero state and compiler flags cannot
// matter.
#pragma once

#include <cstdint>

#include "ir/float_format.h"

namespace ptx2cpu::ir::interpret {

__extension__ typedef unsigned __int128 Bits128;
__extension__ typedef __int128 Signed128;

using Format = FloatFormat;

struct Number {
  enum class Kind : uint8_t { kZero, kFinite, kInfinite, kNan };
  Kind kind = Kind::kZero;
  bool negative = false;
  bool sticky = false;      // the magnitude is larger by less than one unit of the significand
  Bits128 significand = 0;  // not 0 when finite
  int exponent = 0;         // magnitude = significand * 2^exponent

  bool is_nan() const { return kind == Kind::kNan; }
  bool is_zero() const { return kind == Kind::kZero; }
  bool is_infinite() const { return kind == Kind::kInfinite; }
  bool is_finite() const { return kind == Kind::kFinite; }  // and not zero
};

int BitLength(Bits128 value);  // position of the highest one, counting from 1; 0 for 0

Number Decode(const Format& format, uint64_t bits);
Number FromInteger(Bits128 magnitude, bool negative);

struct RoundingRule {
  Rounding mode = Rounding::kNearestEven;
  bool saturate_finite = false;  // infinities and overflow become the largest finite value
  // .ftz: a zero of its sign is what would be less than the least normal number if exponents had no bound. So
  // a number that rounds to the least normal one only with the fewer bits of a subnormal number becomes zero.
  bool flush = false;
  uint32_t random = 0;  // stochastic: added to the first `random_bits` discarded bits
  int random_bits = 0;
};
// The nearest encoding under the rule. NaN becomes the canonical NaN (or the largest value where there is no
// NaN).
uint64_t Encode(const Format& format, const Number& number, const RoundingRule& rule);

// Magnitude rounded to an integer; the sign stays with the number. False when it does not fit 127 bits.
bool RoundToInteger(const Number& number, Rounding mode, Bits128* magnitude);

// `mode` decides only the sign of an exact zero sum.
Number Add(const Number& a, const Number& b, Rounding mode);
Number Multiply(const Number& a, const Number& b);
Number Divide(const Number& a, const Number& b);
Number SquareRoot(const Number& a);
Number Negate(Number a);
// -1, 0 or 1; neither may be NaN.
int CompareNumbers(const Number& a, const Number& b);

// For approximate functions: to and from the host's double, both exact.
double ToDouble(const Number& number);
Number FromDouble(double value);

bool IsSubnormal(const Format& format, uint64_t bits);
bool IsNan(const Format& format, uint64_t bits);
bool IsInfinite(const Format& format, uint64_t bits);
// Sign-preserving zero for a subnormal, else the bits.
uint64_t FlushSubnormal(const Format& format, uint64_t bits);

}  // namespace ptx2cpu::ir::interpret
