// rsqrt of f64: near the root's reciprocal, the same bits on vectors and
// scalars.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 128;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> Roots(const std::vector<double>& numbers, const std::string& row, const char* target,
                          unsigned width) {
  const std::string text = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout) {
  .reg .b64 %in, %out; .reg .b32 %i, %n, %t; .reg .f64 %x;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %i, %n, %t;
  mad.wide.u32 %in, %i, 8, %in;
  mad.wide.u32 %out, %i, 8, %out;
  ld.global.f64 %x, [%in];
  )" + row + R"( %x, %x;
  st.global.f64 [%out], %x;
  ret;
}
)";
  auto kernel = JitKernel::Create(BuildKernel(text, "k"),
                                  {.target = *lowering::ResolveTarget(target), .lane_width = width});
  if (!kernel) FAIL(kernel.error().Render());
  std::vector<double> roots(numbers.size());
  struct {
    const double* in;
    double* out;
  } params{numbers.data(), roots.data()};
  const rt::LaunchShape shape{{static_cast<uint32_t>(numbers.size()) / kThreads, 1, 1}, {kThreads, 1, 1}, 0};
  auto error = rt::Launch(*(*kernel)->kernel().kernel, shape, std::as_bytes(std::span(&params, 1)), {});
  REQUIRE_FALSE(error);
  return roots;
}

std::vector<double> Numbers() {
  std::vector<double> numbers = {0,
                                 -0.0,
                                 kInfinity,
                                 -kInfinity,
                                 std::nan(""),
                                 -1,
                                 4,
                                 0.25,
                                 1,
                                 0x1p-1022,
                                 0x1p-1074,
                                 0x1p-1023,
                                 0x1p1022,
                                 0x1.fffffffffffffp1023,
                                 1e-310,
                                 0x1.fffffffffffffp-1};
  std::mt19937_64 random(3);
  while (numbers.size() < 1 << 16) {
    const uint64_t bits = random() & ~(uint64_t{1} << 63);
    const uint64_t unit = (bits & 0x001FFFFFFFFFFFFF) + 0x3FE0000000000000;  // of [0.5, 2)
    numbers.push_back(std::bit_cast<double>(bits));
    numbers.push_back(std::bit_cast<double>(unit));
  }
  return numbers;
}

}  // namespace

TEST_CASE("rsqrt of f64 by multiply-adds is off by less than a unit of the last place", "[math]") {
  const std::vector<double> numbers = Numbers();
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    INFO(target);
    const std::vector<double> roots = Roots(numbers, "rsqrt.approx.f64", target, 16);
    CHECK(roots[0] == kInfinity);
    CHECK(roots[1] == -kInfinity);
    CHECK(roots[2] == 0);
    CHECK(std::isnan(roots[3]));
    CHECK(std::isnan(roots[4]));
    CHECK(std::isnan(roots[5]));
    double worst = 0;
    for (size_t i = 6; i < numbers.size(); ++i) {
      if (std::isnan(numbers[i]) || std::isinf(numbers[i])) continue;
      const long double exact = 1 / std::sqrt(static_cast<long double>(numbers[i]));
      const double unit = std::ldexp(1.0, std::ilogb(static_cast<double>(exact)) - 52);
      const auto error = static_cast<double>(std::fabs(static_cast<long double>(roots[i]) - exact));
      worst = std::max(worst, error / unit);
    }
    // Without multiply-adds a root and a quotient are rounded.
    CHECK(worst < (lowering::TraitsOf(*lowering::ResolveTarget(target)).has_fma ? 1 : 1.5));
    const std::vector<double> scalars = Roots(numbers, "rsqrt.approx.f64", target, 1);
    size_t different = 0;
    for (size_t i = 0; i < numbers.size(); ++i)
      different += std::bit_cast<uint64_t>(roots[i]) != std::bit_cast<uint64_t>(scalars[i]) &&
                   !(std::isnan(roots[i]) && std::isnan(scalars[i]));
    CHECK(different == 0);
  }
}

TEST_CASE("rsqrt.ftz of f64 makes the upper half of a double", "[math]") {
  const std::vector<double> numbers = Numbers();
  for (const char* target : {"native", "x86-64-v3"}) {
    const std::vector<double> roots = Roots(numbers, "rsqrt.approx.ftz.f64", target, 16);
    CHECK(roots[10] == kInfinity);  // subnormal
    CHECK(std::isnan(roots[5]));
    double worst = 0;
    for (size_t i = 6; i < numbers.size(); ++i) {
      if ((std::bit_cast<uint64_t>(roots[i]) & 0xFFFFFFFF) != 0) FAIL(numbers[i] << ": " << roots[i]);
      if (!std::isnormal(numbers[i])) continue;
      worst = std::max(worst, std::fabs(roots[i] * std::sqrt(numbers[i]) - 1));
    }
    CHECK(worst < 0x1p-19);  // the operand's lower half is not seen either
  }
}
