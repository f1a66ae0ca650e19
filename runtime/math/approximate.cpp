// PTX's approximate functions for f32, computed in f64: far within the errors the PTX manual states, with its
// results for zeros, infinities and NaN. Series are Taylor's; their truncation errors are beside them.
#include <stdint.h>

extern "C" {
#define MATH(result, name, parameters, code, meaning) result name parameters;
#include "runtime/math/math.def"
#undef MATH
}

namespace {

inline uint64_t BitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
inline double DoubleOf(uint64_t bits) { return __builtin_bit_cast(double, bits); }

// Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
constexpr double kRoundingMagic = 0x1.8p52;

struct Reduced {
  double r;  // in [-pi/4, pi/4]
  uint64_t quadrant;
};

// Beyond 2^31 the manual promises nothing; the argument is then reduced as if it were 0, the results stay in
// [-1, 1].
inline Reduced ReduceToQuadrant(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHigh = 0x1.921fb544p0;  // pi/2: 33 bits, so that products with a quadrant are exact ...
  constexpr double kLow = 0x1.0b4611a626331p-34;                  // ... and the rest
  const double limited = __builtin_fabs(x) < 0x1p31 ? x : x - x;  // NaN for infinities
  const double shifted = limited * kTwoOverPi + kRoundingMagic;
  const double n = shifted - kRoundingMagic;
  return {(limited - n * kHigh) - n * kLow, BitsOf(shifted)};
}

inline double SinSeries(double r) {  // |error| < 1e-12 for |r| <= pi/4
  const double q = r * r;
  return r + r * q * (-1.0 / 6 + q * (1.0 / 120 + q * (-1.0 / 5040 + q * (1.0 / 362880 - q / 39916800))));
}
inline double CosSeries(double r) {  // |error| < 1e-12
  const double q = r * r;
  return 1 + q * (-0.5 + q * (1.0 / 24 +
                              q * (-1.0 / 720 + q * (1.0 / 40320 + q * (-1.0 / 3628800 + q / 479001600)))));
}

// sin(x + phase * pi/2)
inline float SinWithPhase(float x, uint64_t phase) {
  const Reduced reduced = ReduceToQuadrant(x);
  const uint64_t quadrant = reduced.quadrant + phase;
  const double sine = SinSeries(reduced.r), cosine = CosSeries(reduced.r);  // both: no branch
  const double value = (quadrant & 1) != 0 ? cosine : sine;
  return static_cast<float>((quadrant & 2) != 0 ? -value : value);
}

// 2^x for |x| < 1000; relative error < 3e-11
inline double Exp2(double x) {
  const double shifted = x + kRoundingMagic;
  const double f = (x - (shifted - kRoundingMagic)) * 0x1.62e42fefa39efp-1;  // ln 2; |f| < 0.347
  double series = 1 + f * (1.0 / 9);
  series = 1 + f * (1.0 / 8) * series;
  series = 1 + f * (1.0 / 7) * series;
  series = 1 + f * (1.0 / 6) * series;
  series = 1 + f * (1.0 / 5) * series;
  series = 1 + f * (1.0 / 4) * series;
  series = 1 + f * (1.0 / 3) * series;
  series = 1 + f * (1.0 / 2) * series;
  series = 1 + f * series;
  return DoubleOf(BitsOf(series) + (BitsOf(shifted) << 52));
}

}  // namespace

extern "C" {

float ptx2cpu_sin_f32(float x) {
  const float result = SinWithPhase(x, 0);
  return x == 0 ? x : result;
}

float ptx2cpu_cos_f32(float x) { return SinWithPhase(x, 1); }

float ptx2cpu_ex2_f32(float x) {
  const double low = x > -200.0 ? static_cast<double>(x) : -200.0;
  const float result = static_cast<float>(Exp2(low < 200.0 ? low : 200.0));
  return x != x ? x : result;
}

float ptx2cpu_lg2_f32(float x) {
  // m * 2^e with m in [sqrt(1/2), sqrt(2)); subnormal floats are normal doubles.
  const uint64_t bits = BitsOf(x);
  const uint64_t offset = bits - 0x3FE6A09E667F3BCDu;
  const int64_t exponent = static_cast<int64_t>(offset) >> 52;
  const double m = DoubleOf(bits - (static_cast<uint64_t>(exponent) << 52));
  // log2(m) = 2 / ln 2 * (s + s^3/3 + ...) with s = (m - 1) / (m + 1), |s| < 0.172: truncation below 1e-11 of
  // s
  const double s = (m - 1) / (m + 1), q = s * s;
  const double series =
      1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11 + q / 13)))));
  const float result = static_cast<float>(static_cast<double>(exponent) + s * series * 0x1.71547652b82fep1);
  const float below = x == 0 ? -__builtin_inff() : __builtin_nanf("");
  const float positive = x == __builtin_inff() ? x : result;
  return x > 0 ? positive : below;
}

float ptx2cpu_tanh_f32(float x) {
  const double wide = x, q = wide * wide;
  // Near 0 the quotient would cancel. The series lacks less than 1e-8 of the result for |x| < 1/4.
  const double near = wide * (1 + q * (-1.0 / 3 + q * (2.0 / 15 + q * (-17.0 / 315 + q * (62.0 / 2835)))));
  const double magnitude = __builtin_fabs(wide), limited = magnitude < 20 ? magnitude : 20;
  const double power = Exp2(limited * 0x1.71547652b82fep1);  // e^(2|x|)
  const double quotient = (power - 1) / (power + 1);
  const double far = x < 0 ? -quotient : quotient;
  const float result = static_cast<float>(magnitude < 0.25 ? near : far);
  return x != x ? x : result;
}

}  // extern "C"
