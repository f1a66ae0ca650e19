// The approximate functions as generated code computes them, on vectors and scalars of each machine, give the
// bits of their series with each sum of a product rounded once. PTX2CPU_FULL_TESTS: for all floats.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 256, kFloats = 1 << 16;  // a launch

double RoundEven(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

double Exp2(double x) {
  const double n = RoundEven(x), f = (x - n) * 0x1.62e42fefa39efp-1;
  double series = 1 + f * (1.0 / 9);
  for (int k = 8; k >= 2; --k) series = 1 + f * (1.0 / k) * series;
  const auto exponent = static_cast<uint64_t>(static_cast<int64_t>(n)) << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(1 + f * series) + exponent);
}

// Coefficients from the highest down.
template <typename Float>
Float Horner(std::initializer_list<Float> coefficients, Float x) {
  Float sum = 0;
  for (Float coefficient : coefficients) sum = std::fma(sum, x, coefficient);
  return sum;
}

float Ex2(float x) {
  if (std::isnan(x)) return x;
  const float limited = std::clamp(x, -151.0f, 128.0f), n = std::nearbyint(limited), f = limited - n;
  const float q = f * f, first = std::fma(f, 0x1.ebfbep-3f, 0x1.62e43p-1f),
              second = std::fma(f, 0x1.3b2a1cp-7f, 0x1.c6af6cp-5f),
              third = std::fma(f, 0x1.44404p-13f, 0x1.5f0896p-10f);
  const float series = std::fma(std::fma(std::fma(third, q, second), q, first), f, 1.0f);
  return static_cast<float>(std::ldexp(static_cast<double>(series), static_cast<int>(n)));
}
float Ex2Ftz(float x) { return x < -126 ? 0 : Ex2(x); }

float Lg2(float x) {
  if (!(x > 0)) return x == 0 ? -std::numeric_limits<float>::infinity() : std::nanf("");
  if (std::isinf(x)) return x;
  int exponent = 0;
  float m = std::frexp(x, &exponent);
  if (std::bit_cast<uint32_t>(m) < 0x3F3504F3) m *= 2, --exponent;
  const float series =
      Horner({0x1.f841dcp-4f, -0x1.a59aeap-3f, 0x1.ba8738p-3f, -0x1.e9d1e6p-3f, 0x1.26d01cp-2f,
              -0x1.715994p-2f, 0x1.ec73dep-2f, -0x1.715474p-1f, 0x1.715476p+0f},
             m - 1);
  return std::fma(series, m - 1, static_cast<float>(exponent));
}
float Lg2Ftz(float x) { return Lg2(std::fabs(x) < 0x1p-126f ? 0 : x); }

float SinWithPhase(float x, uint64_t phase) {
  const double wide = x, limited = std::fabs(wide) < 0x1p31 ? wide : wide - wide;
  const double shifted = std::fma(limited, 0x1.45f306dc9c883p-1, 0x1.8p52), n = shifted - 0x1.8p52;
  const double r = std::fma(-n, 0x1.1a62633145c07p-54, std::fma(-n, 0x1.921fb54442d18p0, limited)), q = r * r;
  const double odd = Horner({-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6}, q);
  const double sine = std::fma(r * q, odd, r);
  const double cosine =
      Horner({1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0}, q);
  const uint64_t quadrant = std::bit_cast<uint64_t>(shifted) + phase;
  const double value = (quadrant & 1) != 0 ? cosine : sine;
  return static_cast<float>((quadrant & 2) != 0 ? -value : value);
}
float Sin(float x) { return x == 0 ? x : SinWithPhase(x, 0); }
float Cos(float x) { return SinWithPhase(x, 1); }

float Tanh(float x) {
  if (std::isnan(x)) return x;
  const double wide = x, q = wide * wide, magnitude = std::fabs(wide);
  const double near = wide * (1 + q * (-1.0 / 3 + q * (2.0 / 15 + q * (-17.0 / 315 + q * (62.0 / 2835)))));
  const double power = Exp2(std::min(magnitude, 20.0) * 0x1.71547652b82fep1);
  const double far = std::copysign((power - 1) / (power + 1), wide);
  return static_cast<float>(magnitude < 0.25 ? near : far);
}

// With vectors of 512 bits; elsewhere a root and a quotient.
float Rsqrt(float x) {
  const auto near = std::bit_cast<float>(0x5F374740 - (std::bit_cast<uint32_t>(x) >> 1));
  const float error = std::fma(-(x * near), near, 1.0f);
  float series = 0x1.19594ap-2f;
  for (float next : {0x1.4177d6p-2f, 0x1.7fff98p-2f, 0x1.ffff9p-2f}) series = std::fma(series, error, next);
  if (std::bit_cast<uint32_t>(series) > 0x3F06EFAA) return 1 / std::sqrt(x);
  return std::fma(near * error, series, near);
}

// In [0, 1]; NaN and -0 are +0.
float Saturated(float x) { return x > 0 ? std::min(x, 1.0f) : 0.0f; }
float SaturatedFtz(float x) { return x >= 0x1p-126f ? std::min(x, 1.0f) : 0.0f; }

// The instructions on %f, for kFloats of them.
std::string Kernel(const std::string& instructions) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .b32 %i, %b, %n; .reg .f32 %f; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %i, %b, %n, %i;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.f32 %f, [%in];
)" + instructions +
         R"(
  st.global.f32 [%out], %f;
  ret;
}
)";
}

class Function {
 public:
  Function(const std::string& instructions, const std::string& target, float (*wanted)(float))
      : wanted_(wanted) {
    auto kernel = JitKernel::Create(BuildKernel(Kernel(instructions), "k"),
                                    {.target = *lowering::ResolveTarget(target)});
    REQUIRE(kernel);
    kernel_ = *kernel;
  }

  // The floats with bits first, first + step, ...; returns how many differ.
  size_t Compare(uint64_t first, uint64_t step) {
    std::vector<float> in(kFloats), out(kFloats);
    for (size_t i = 0; i < kFloats; ++i)
      in[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * step));
    struct {
      const float* in;
      float* out;
    } params{in.data(), out.data()};
    const rt::LaunchShape shape{{kFloats / kThreads, 1, 1}, {kThreads, 1, 1}, 0};
    auto error = rt::Launch(*kernel_->kernel().kernel, shape, std::as_bytes(std::span(&params, 1)), {});
    REQUIRE_FALSE(error);
    size_t different = 0;
    for (size_t i = 0; i < kFloats; ++i) {
      const float wanted = wanted_(in[i]);
      const bool same = std::bit_cast<uint32_t>(wanted) == std::bit_cast<uint32_t>(out[i]);
      different += !same && !(std::isnan(wanted) && std::isnan(out[i]));
    }
    return different;
  }

 private:
  float (*wanted_)(float);
  std::shared_ptr<JitKernel> kernel_;
};

}  // namespace

TEST_CASE("approximate functions keep their bits, fused and on vectors", "[math][long]") {
  const bool all = std::getenv("PTX2CPU_FULL_TESTS") != nullptr;
  struct {
    const char* name;
    float (*wanted)(float);
  } constexpr kFunctions[] = {{"ex2.approx", Ex2},        {"ex2.approx.ftz", Ex2Ftz},
                              {"lg2.approx", Lg2},        {"lg2.approx.ftz", Lg2Ftz},
                              {"sin.approx", Sin},        {"cos.approx", Cos},
                              {"tanh.approx", Tanh},      {"rsqrt.approx", Rsqrt},
                              {"cvt.sat.f32", Saturated}, {"cvt.ftz.sat.f32", SaturatedFtz}};
  const auto wanted_on = [](const char* target, float (*wanted)(float)) {
    const bool by_root = wanted == Rsqrt && !lowering::TraitsOf(*lowering::ResolveTarget(target)).has_avx512;
    return by_root ? [](float x) { return 1 / std::sqrt(x); } : wanted;
  };
  for (const char* target : {"native", "x86-64-v2"}) {
    if (std::string_view(target) != "native" &&
        !lowering::TraitsOf(*lowering::ResolveTarget("native")).is_x86)
      continue;
    for (const auto& [name, wanted] : kFunctions) {
      Function function("  " + std::string(name) + ".f32 %f, %f;", target, wanted_on(target, wanted));
      const uint64_t step = !all ? 2731 : std::string_view(target) == "native" ? 1 : 61;
      size_t different = 0;
      for (uint64_t first = 0; first < uint64_t{1} << 32; first += kFloats * step)
        different += function.Compare(first, step);
      INFO(name << " on " << target);
      CHECK(different == 0);
    }
  }
}

TEST_CASE("ex2 is within the error that PTX states", "[math][long]") {
  const uint32_t step = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1 : 97;
  double worst = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += step) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!(x > -150.0f && x < 128.0f)) continue;
    const double exact = std::exp2(static_cast<double>(x));
    const int exponent = std::max(std::ilogb(exact), -126) - 23;
    worst = std::max(worst, std::fabs(static_cast<double>(Ex2(x)) - exact) / std::ldexp(1.0, exponent));
  }
  CHECK(worst < 1.4);
}

TEST_CASE("rsqrt is within the error that PTX states", "[math]") {
  const uint32_t step = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1 : 11;
  double worst = 0;
  const auto add = [&](uint32_t bits) {
    const auto x = std::bit_cast<float>(bits);
    worst = std::max(worst, std::fabs(static_cast<double>(Rsqrt(x)) * std::sqrt(static_cast<double>(x)) - 1));
  };
  for (uint32_t bits = 1; bits < 0x00800000; bits += step) add(bits);  // subnormal
  for (uint32_t bits = 0x3F800000; bits < 0x40800000; bits += step)
    add(bits);  // others differ by a power of 4
  for (uint32_t bits = 0x00800000; bits < 0x7F800000; bits += 1009 * step) add(bits);
  CHECK(worst < 0x1p-23);
  CHECK(Rsqrt(std::numeric_limits<float>::infinity()) == 0);
  CHECK(std::isinf(Rsqrt(0)));
  CHECK(std::isnan(Rsqrt(-1)));
  CHECK(Rsqrt(0x1p-126f) == 0x1p63f);
  CHECK(Rsqrt(0x1p126f) == 0x1p-63f);
}

TEST_CASE("lg2 is within the error that PTX states", "[math][long]") {
  const uint32_t step = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1 : 97;
  double absolute = 0, relative = 0;  // between 1/2 and 2, elsewhere
  for (uint32_t bits = 1; bits < 0x7F800000; bits += step) {
    const auto x = std::bit_cast<float>(bits);
    const double exact = std::log2(static_cast<double>(x));
    const double error = std::fabs(static_cast<double>(Lg2(x)) - exact);
    if (x > 0.5f && x < 2.0f) {
      absolute = std::max(absolute, error);
    } else {
      relative = std::max(relative, error / std::fabs(exact));
    }
  }
  CHECK(absolute < 0x1p-23);
  CHECK(relative < 0x1p-23);
  for (int n = -149; n < 128; ++n) CHECK(Lg2(std::ldexp(1.0f, n)) == static_cast<float>(n));
}

// Operands that cannot be subnormal need no flush: sums whose constant is large enough, not those of a
// smaller one.
TEST_CASE(".ftz after sums with a constant", "[math]") {
  static constexpr float kLarge = 0x1p-102f, kLess = 0x1.000002p-126f, kFactor = 0x1p120f;
  static auto scaled = [](float x) { return (std::fabs(x) < 0x1p-126f ? 0 * x : x) * kFactor; };
  struct {
    const char* instructions;
    float around;
    float (*wanted)(float);
  } constexpr kSums[] = {
      {"add.f32 %f, %f, 0f0C800000;", -kLarge, [](float x) { return scaled(x + kLarge); }},
      {"add.f32 %f, 0f00800001, %f;", -kLess, [](float x) { return scaled(x + kLess); }},
      {"fma.rn.f32 %f, %f, 0f3F800001, 0f1C800000;", -0x1p-70f,
       [](float x) { return scaled(std::fma(x, 0x1.000002p0f, 0x1p-70f)); }},
      {"fma.rn.f32 %f, %f, 0f3F800001, 0f00800001;", -kLess,
       [](float x) { return scaled(std::fma(x, 0x1.000002p0f, kLess)); }},
      {"sub.f32 %f, %f, 0f0C800000;\n neg.f32 %f, %f;", kLarge,
       [](float x) { return scaled(-(x - kLarge)); }},
      {"sqrt.rn.f32 %f, %f;", 0x1p-149f, [](float x) { return scaled(std::sqrt(x)); }},
  };
  for (const auto& [instructions, around, wanted] : kSums) {
    Function function(std::string(instructions) + "\n  mul.ftz.f32 %f, %f, 0f7B800000;", "native", wanted);
    INFO(instructions);
    CHECK(function.Compare(std::bit_cast<uint32_t>(around) - kFloats / 2, 1) == 0);
    CHECK(function.Compare(0, 65521) == 0);
  }
}

// How libdevice's expf splits its argument: a float of this size has no fraction.
TEST_CASE("a product and a large addend are rounded in a direction", "[math][long]") {
  constexpr double kAddend = 12582913;
  static auto number = [](float x) {
    return std::isnan(x) ? 0.0 : std::clamp(static_cast<double>(x), 0.0, 1.0);
  };
  struct {
    const char *mode, *addend;
    float (*wanted)(float);
  } constexpr kModes[] = {
      {"rm", "0f4B400001", [](float x) { return static_cast<float>(kAddend + std::floor(number(x) * 252)); }},
      {"rp", "0f4B400001", [](float x) { return static_cast<float>(kAddend + std::ceil(number(x) * 252)); }},
      {"rz", "0f4B400001", [](float x) { return static_cast<float>(kAddend + std::floor(number(x) * 252)); }},
      {"rm", "0fCB400001", [](float x) { return static_cast<float>(std::floor(number(x) * 252) - kAddend); }},
      {"rp", "0fCB400001", [](float x) { return static_cast<float>(std::ceil(number(x) * 252) - kAddend); }},
      {"rz", "0fCB400001", [](float x) { return static_cast<float>(std::ceil(number(x) * 252) - kAddend); }},
  };
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    if (std::string_view(target) != "native" &&
        !lowering::TraitsOf(*lowering::ResolveTarget("native")).is_x86)
      continue;
    for (const auto& [mode, addend, wanted] : kModes) {
      Function function("  cvt.sat.f32.f32 %f, %f;\n  fma." + std::string(mode) +
                            ".f32 %f, %f, 0f437C0000, " + addend + ";",
                        target, wanted);
      size_t different = 0;
      // All floats below 1 in steps, and those next to the places where the result changes.
      const uint64_t step = test::IsQuick() ? 21851 : 2731;
      for (uint64_t first = 0; first < uint64_t{1} << 32; first += kFloats * step)
        different += function.Compare(first, step);
      for (int k = 1; k <= 252; k += test::IsQuick() ? 29 : 5)
        different += function.Compare(std::bit_cast<uint32_t>(static_cast<float>(k) / 252) - kFloats / 2, 1);
      INFO(mode << " " << addend << " on " << target);
      CHECK(different == 0);
    }
  }
}
