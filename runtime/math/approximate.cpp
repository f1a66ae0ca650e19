// PTX's approximate functions for f32, far within the errors that the PTX manual states, with its results for
// zeros, infinities and NaN. Powers of two and logarithms are computed in f32, with polynomials that
// interpolate at Chebyshev's points; the others in f64, with Taylor's series. Errors are beside them.
//
// Sums of products are fused, which halves the operations; machines that cannot call the library's function,
// so that the bits are the same everywhere. The exception is tanh, which they compute unfused: its rounding
// from f64 to f32 hides the difference. tests/llvm/approximate_bits_test.cpp compares all floats.
#include <stdint.h>

extern "C" {
#define MATH(result, name, parameters, code, meaning) result name parameters;
#include "runtime/math/math.def"
#undef MATH
}

namespace {

inline uint64_t BitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
inline double DoubleOf(uint64_t bits) { return __builtin_bit_cast(double, bits); }
inline uint32_t WordOf(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float FloatOf(uint32_t word) { return __builtin_bit_cast(float, word); }

// x * y + z, rounded once
inline float Fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double Fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

// Adding 1.5 * 2^52 (2^23) leaves the nearest integer in the low bits of the sum.
constexpr double kRoundingMagic = 0x1.8p52;
constexpr float kRoundingMagicOfFloats = 0x1.8p23f;

struct Reduced {
  double r;  // in [-pi/4, pi/4]
  uint64_t quadrant;
};

// Beyond 2^31 the manual promises nothing; the argument is then reduced as if it were 0, the results stay in
// [-1, 1].
inline Reduced ReduceToQuadrant(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHigh = 0x1.921fb54442d18p0, kLow = 0x1.1a62633145c07p-54;  // pi/2
  const double limited = __builtin_fabs(x) < 0x1p31 ? x : x - x;               // NaN for infinities
  const double shifted = Fma(limited, kTwoOverPi, kRoundingMagic);
  const double n = shifted - kRoundingMagic;
  return {Fma(-n, kLow, Fma(-n, kHigh, limited)), BitsOf(shifted)};
}

inline double SinSeries(double r) {  // |error| < 1e-12 for |r| <= pi/4
  const double q = r * r;
  double series = Fma(q, -1.0 / 39916800, 1.0 / 362880);
  series = Fma(q, series, -1.0 / 5040);
  series = Fma(q, series, 1.0 / 120);
  series = Fma(q, series, -1.0 / 6);
  return Fma(r * q, series, r);
}
inline double CosSeries(double r) {  // |error| < 1e-12
  const double q = r * r;
  double series = Fma(q, 1.0 / 479001600, -1.0 / 3628800);
  series = Fma(q, series, 1.0 / 40320);
  series = Fma(q, series, -1.0 / 720);
  series = Fma(q, series, 1.0 / 24);
  series = Fma(q, series, -0.5);
  return Fma(q, series, 1.0);
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

// 2^x for x in [-126, 128], and 2^128 for greater x; the error is at most 1.4 units in the last place (PTX
// states 2). Powers of integers are exact.
inline float PowerOfTwo(float x) {
  const float limited = x > 128.0f ? 128.0f : x;
  const float shifted = limited + kRoundingMagicOfFloats;
  const float f = limited - (shifted - kRoundingMagicOfFloats);  // exact; |f| <= 1/2
  // Chebyshev's expansion of (2^f - 1) / f, in pairs (Estrin), so that few operations depend on each other.
  const float q = f * f, first = Fma(f, 0x1.ebfbep-3f, 0x1.62e43p-1f),
              second = Fma(f, 0x1.3b2a1cp-7f, 0x1.c6af6cp-5f),
              third = Fma(f, 0x1.44404p-13f, 0x1.5f0896p-10f);
  const float series = Fma(Fma(third, q, second), q, first);
  const float power = Fma(series, f, 1.0f);
  return FloatOf(WordOf(power) + (WordOf(shifted) << 23));
}

// log2(x) + more for normal x > 0. Absolute error < 2^-23.3 for x between 1/2 and 2, relative error < 2^-23.5
// elsewhere.
inline float LogarithmAnd(float more, float x) {
  // m * 2^e with m in [sqrt(1/2), sqrt(2))
  const uint32_t bits = WordOf(x), offset = bits - 0x3F3504F3u;
  const int32_t exponent = static_cast<int32_t>(offset) >> 23;
  const float f = FloatOf(bits - (static_cast<uint32_t>(exponent) << 23)) - 1;  // exact
  float series = Fma(f, 0x1.f841dcp-4f, -0x1.a59aeap-3f);
  series = Fma(series, f, 0x1.ba8738p-3f);
  series = Fma(series, f, -0x1.e9d1e6p-3f);
  series = Fma(series, f, 0x1.26d01cp-2f);
  series = Fma(series, f, -0x1.715994p-2f);
  series = Fma(series, f, 0x1.ec73dep-2f);
  series = Fma(series, f, -0x1.715474p-1f);
  series = Fma(series, f, 0x1.715476p+0f);
  const float result = Fma(series, f, static_cast<float>(exponent) + more);
  return x == __builtin_inff() ? x : result;
}

}  // namespace

extern "C" {

float ptx2cpu_sin_f32(float x) {
  const float result = SinWithPhase(x, 0);
  return x == 0 ? x : result;
}

float ptx2cpu_cos_f32(float x) { return SinWithPhase(x, 1); }

// Below -125, where results may be subnormal, 2^(x + 64) is scaled.
float ptx2cpu_ex2_f32(float x) {
  const float limited = x > -160.0f ? x : -160.0f;
  const bool small = limited < -125.0f;
  const float result = PowerOfTwo(small ? limited + 64 : limited) * (small ? 0x1p-64f : 1.0f);
  return x != x ? x : result;
}

float ptx2cpu_ex2_ftz_f32(float x) {
  const float power = PowerOfTwo(x);
  const float result = x < -126.0f ? 0.0f : power;
  return x != x ? x : result;
}

float ptx2cpu_lg2_f32(float x) {
  const bool small = x < 0x1p-126f;
  const float result = LogarithmAnd(small ? -24.0f : 0.0f, small ? x * 0x1p24f : x);
  const float below = x == 0 ? -__builtin_inff() : __builtin_nanf("");
  return x > 0 ? result : below;
}

float ptx2cpu_lg2_ftz_f32(float x) {
  const float result = LogarithmAnd(0, x);
  const float below = x > -0x1p-126f ? -__builtin_inff() : __builtin_nanf("");
  return x >= 0x1p-126f ? result : below;
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
