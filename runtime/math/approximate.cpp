// PTX's approximate functions for f32, within the errors that the PTX manual states, with its results for
// zeros, infinities and NaN. All but ex2 are computed in f64; their series are Taylor's, with the truncation
// errors beside them.
//
// In tanh and lg2 products are fused with sums where the machine can; the rounding to f32 hides the
// difference: tests/llvm/approximate_bits_test.cpp compares all floats. In ex2 and sines it would show.
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
  const double series = q * (1.0 / 362880 - q * (1.0 / 39916800)) - 1.0 / 5040;
  return r + r * q * (q * (q * series + 1.0 / 120) - 1.0 / 6);
}
inline double CosSeries(double r) {  // |error| < 1e-12
  const double q = r * r;
  const double series = q * (q * (1.0 / 479001600) - 1.0 / 3628800) + 1.0 / 40320;
  return q * (q * (q * (q * series - 1.0 / 720) + 1.0 / 24) - 0.5) + 1;
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
#ifdef __clang__
#pragma clang fp contract(on)
#endif
  const double shifted = x + kRoundingMagic;
  const double f = (x - (shifted - kRoundingMagic)) * 0x1.62e42fefa39efp-1;  // ln 2; |f| < 0.347
  double series = f * (1.0 / 362880) + 1.0 / 40320;
  series = series * f + 1.0 / 5040;
  series = series * f + 1.0 / 720;
  series = series * f + 1.0 / 120;
  series = series * f + 1.0 / 24;
  series = series * f + 1.0 / 6;
  series = series * f + 1.0 / 2;
  series = series * f + 1;
  series = series * f + 1;
  return DoubleOf(BitsOf(series) + (BitsOf(shifted) << 52));
}

}  // namespace

extern "C" {

float ptx2cpu_sin_f32(float x) {
  const float result = SinWithPhase(x, 0);
  return x == 0 ? x : result;
}

float ptx2cpu_cos_f32(float x) { return SinWithPhase(x, 1); }

// In f32, without fused products: the error is at most 1.4 units in the last place (PTX states 2), powers of
// integers are exact. Below 2^-100 the power is computed 2^64 times as large, so that subnormal results are
// rounded once.
float ptx2cpu_ex2_f32(float x) {
  constexpr float kRounding = 0x1.8p23f;  // leaves the nearest integer in the low bits of a sum
  const float low = x > -151.0f ? x : -151.0f, limited = low < 128.0f ? low : 128.0f;
  const bool small = limited < -100.0f;
  const float raised = small ? limited + 64.0f : limited;
  const float shifted = raised + kRounding;
  const float f = raised - (shifted - kRounding);  // in [-1/2, 1/2]
  // Chebyshev's expansion of (2^f - 1) / f, in pairs (Estrin), so that few operations depend on each other.
  const float q = f * f, first = f * 0x1.ebfbep-3f + 0x1.62e43p-1f,
              second = f * 0x1.3b2a1cp-7f + 0x1.c6af6cp-5f, third = f * 0x1.44404p-13f + 0x1.5f0896p-10f;
  const float series = (third * q + second) * q + first;
  const float power = series * f + 1.0f;
  const uint32_t exponent = __builtin_bit_cast(uint32_t, shifted) << 23;
  const float scaled = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, power) + exponent);
  const float result = small ? scaled * 0x1p-64f : scaled;
  return x != x ? x : result;
}

float ptx2cpu_lg2_f32(float x) {
#ifdef __clang__
#pragma clang fp contract(on)
#endif
  // m * 2^e with m in [sqrt(1/2), sqrt(2)); subnormal floats are normal doubles.
  const uint64_t bits = BitsOf(x);
  const uint64_t offset = bits - 0x3FE6A09E667F3BCDu;
  const int64_t exponent = static_cast<int64_t>(offset) >> 52;
  const double m = DoubleOf(bits - (static_cast<uint64_t>(exponent) << 52));
  // log2(m) = 2 / ln 2 * (s + s^3/3 + ...) with s = (m - 1) / (m + 1), |s| < 0.172: truncation below 1e-11 of
  // s
  const double s = (m - 1) / (m + 1), q = s * s;
  constexpr double kScale = 0x1.71547652b82fep1;  // 2 / ln 2
  double series = q * (kScale / 13) + kScale / 11;
  series = series * q + kScale / 9;
  series = series * q + kScale / 7;
  series = series * q + kScale / 5;
  series = series * q + kScale / 3;
  series = series * q + kScale;
  const float result = static_cast<float>(s * series + static_cast<double>(exponent));
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
