// runtime/math, compiled natively: errors of the approximate functions against the PTX manual's bounds.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

extern "C" {
#define MATH(result, name, parameters, code, meaning) result name parameters;
#include "runtime/math/math.def"
#undef MATH
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Largest error over evenly spaced floats; `error` gets the result and the exact value.
template <typename Function, typename Error>
double Worst(float from, float to, Function function, double (*exact)(double), Error error) {
  double worst = 0;
  for (int i = 0; i <= 200000; ++i) {
    const float x = from + (to - from) * (static_cast<float>(i) / 200000);
    worst = std::max(worst, error(static_cast<double>(function(x)), exact(x)));
  }
  return worst;
}
double Absolute(double got, double exact) { return std::fabs(got - exact); }
double Relative(double got, double exact) {
  return exact == 0 ? std::fabs(got) : std::fabs((got - exact) / exact);
}

}  // namespace

TEST_CASE("approximate functions stay within the manual's errors") {
  CHECK(Worst(-3.14159f, 3.14159f, ptx2cpu_sin_f32, std::sin, Absolute) < 0x1p-20);
  CHECK(Worst(-314.159f, 314.159f, ptx2cpu_sin_f32, std::sin, Absolute) < 0x1p-20);
  CHECK(Worst(-314.159f, 314.159f, ptx2cpu_cos_f32, std::cos, Absolute) < 0x1p-20);
  CHECK(Worst(0.5f, 2.0f, ptx2cpu_lg2_f32, std::log2, Absolute) < 0x1p-22);
  CHECK(Worst(2.0f, 3e38f, ptx2cpu_lg2_f32, std::log2, Relative) < 0x1p-22);
  CHECK(Worst(1e-38f, 0.5f, ptx2cpu_lg2_f32, std::log2, Relative) < 0x1p-22);
  CHECK(Worst(-120.0f, 120.0f, ptx2cpu_ex2_f32, std::exp2, Relative) < 0x1p-22);
  CHECK(Worst(-12.0f, 12.0f, ptx2cpu_tanh_f32, std::tanh, Relative) < 0x1p-22);
  CHECK(Worst(-1e-3f, 1e-3f, ptx2cpu_tanh_f32, std::tanh, Relative) < 0x1p-22);
}

TEST_CASE("approximate functions at the edges") {
  CHECK(std::signbit(ptx2cpu_sin_f32(-0.0f)));
  CHECK(std::signbit(ptx2cpu_tanh_f32(-0.0f)));
  CHECK(ptx2cpu_cos_f32(0.0f) == 1);
  CHECK(ptx2cpu_ex2_f32(-kInfinity) == 0);
  CHECK(ptx2cpu_ex2_f32(kInfinity) == kInfinity);
  CHECK(ptx2cpu_ex2_f32(-149.0f) == 0x1p-149f);
  CHECK(ptx2cpu_ex2_f32(127.0f) == 0x1p127f);
  CHECK(ptx2cpu_lg2_f32(0.0f) == -kInfinity);
  CHECK(ptx2cpu_lg2_f32(-0.0f) == -kInfinity);
  CHECK(ptx2cpu_lg2_f32(kInfinity) == kInfinity);
  CHECK(ptx2cpu_lg2_f32(0x1p-149f) == -149);
  CHECK(std::isnan(ptx2cpu_lg2_f32(-1.0f)));
  CHECK(ptx2cpu_tanh_f32(kInfinity) == 1);
  CHECK(ptx2cpu_tanh_f32(-kInfinity) == -1);
  for (auto function : {ptx2cpu_sin_f32, ptx2cpu_cos_f32, ptx2cpu_ex2_f32, ptx2cpu_lg2_f32, ptx2cpu_tanh_f32})
    CHECK(std::isnan(function(kNan)));
  CHECK(std::isnan(ptx2cpu_sin_f32(kInfinity)));
  CHECK(std::fabs(ptx2cpu_sin_f32(3e38f)) <= 1);
}

TEST_CASE("find n-th set") {
  CHECK(ptx2cpu_fns(0b10110, 0, 1) == 1);
  CHECK(ptx2cpu_fns(0b10110, 2, 2) == 4);
  CHECK(ptx2cpu_fns(0b10110, 4, static_cast<uint32_t>(-2)) == 2);
  CHECK(ptx2cpu_fns(0b10110, 3, 0) == ~0u);
  CHECK(ptx2cpu_fns(0b10110, 2, 0) == 2);
  CHECK(ptx2cpu_fns(0, 0, 1) == ~0u);
}
