// Division of 64-bit integers by vectors: the quotients and rests of scalars, at all borders.
#include <catch2/catch.hpp>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 128;
constexpr const char* kRows[] = {"div.u64", "rem.u64", "div.s64", "rem.s64"};

uint64_t Wanted(size_t row, uint64_t x, uint64_t d) {
  if (d == 0) return ~uint64_t{0};
  if (row < 2) return row == 0 ? x / d : x % d;
  if (d == ~uint64_t{0}) return row == 2 ? -x : 0;
  const auto sx = static_cast<int64_t>(x), sd = static_cast<int64_t>(d);
  return static_cast<uint64_t>(row == 2 ? sx / sd : sx % sd);
}

struct Pairs {
  std::vector<uint64_t> numbers, divisors;
};

// Multiples of divisors of all lengths and what lies beside them: there an estimate is off.
Pairs Borders() {
  std::mt19937_64 random(5);
  Pairs pairs;
  const auto add = [&](uint64_t x, uint64_t d) {
    pairs.numbers.push_back(x);
    pairs.divisors.push_back(d);
  };
  for (int i = 0; i < 20000; ++i) {
    const uint64_t d = random() >> random() % 64, k = random() >> random() % 64;
    for (uint64_t beside : {~uint64_t{0}, uint64_t{0}, uint64_t{1}}) add(d * k + beside, d);
    if (d != 0) add(~uint64_t{0} / d * d + random() % 3 - 1, d);
    add(random(), d);
  }
  constexpr uint64_t kEdges[] = {0,
                                 1,
                                 2,
                                 3,
                                 ~uint64_t{0},
                                 ~uint64_t{0} - 1,
                                 uint64_t{1} << 63,
                                 (uint64_t{1} << 63) - 1,
                                 (uint64_t{1} << 63) + 1,
                                 uint64_t{1} << 62,
                                 (uint64_t{1} << 53) + 1,
                                 uint64_t{1} << 32,
                                 0xFFFFFFFF,
                                 ~uint64_t{0} << 11,
                                 (uint64_t{1} << 63) - 1024};
  for (uint64_t x : kEdges)
    for (uint64_t d : kEdges) add(x, d);
  while (pairs.numbers.size() % kThreads != 0) add(1, 1);
  return pairs;
}

// `divisor`: an operand, %d (of each thread), %one (of all) or a number.
std::vector<uint64_t> Divided(const Pairs& pairs, const std::string& row, const std::string& divisor,
                              uint64_t one, const char* target, unsigned width) {
  const std::string text = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pby, .param .u64 pout, .param .u64 pone) {
  .reg .b64 %in, %by, %out, %x, %d, %one; .reg .b32 %i, %n, %t;
  ld.param.u64 %in, [pin];
  ld.param.u64 %by, [pby];
  ld.param.u64 %out, [pout];
  ld.param.u64 %one, [pone];
  mov.u32 %i, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mov.u32 %t, %tid.x;
  mad.lo.u32 %i, %i, %n, %t;
  mad.wide.u32 %in, %i, 8, %in;
  mad.wide.u32 %by, %i, 8, %by;
  mad.wide.u32 %out, %i, 8, %out;
  ld.global.u64 %x, [%in];
  ld.global.u64 %d, [%by];
  )" + row + " %x, %x, " + divisor +
                           R"(;
  st.global.u64 [%out], %x;
  ret;
}
)";
  auto kernel = JitKernel::Create(BuildKernel(text, "k"),
                                  {.target = *lowering::ResolveTarget(target), .lane_width = width});
  if (!kernel) FAIL(kernel.error().Render());
  std::vector<uint64_t> results(pairs.numbers.size());
  struct {
    const uint64_t *in, *by;
    uint64_t *out, one;
  } params{pairs.numbers.data(), pairs.divisors.data(), results.data(), one};
  const rt::LaunchShape shape{{static_cast<uint32_t>(results.size()) / kThreads, 1, 1}, {kThreads, 1, 1}, 0};
  auto error = rt::Launch(*(*kernel)->kernel().kernel, shape, std::as_bytes(std::span(&params, 1)), {});
  REQUIRE_FALSE(error);
  return results;
}

}  // namespace

TEST_CASE("64-bit integers are divided by vectors of any machine", "[divide][long]") {
  const Pairs pairs = Borders();
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    for (size_t row = 0; row < std::size(kRows); ++row) {
      const auto check = [&](const std::string& divisor, uint64_t one, bool is_own) {
        const std::vector<uint64_t> results = Divided(pairs, kRows[row], divisor, one, target, 16);
        for (size_t i = 0; i < results.size(); ++i) {
          const uint64_t x = pairs.numbers[i], d = is_own ? pairs.divisors[i] : one;
          if (results[i] != Wanted(row, x, d))
            FAIL(target << ", " << kRows[row] << " by " << divisor << ": " << x << ", " << d << " gave "
                        << results[i]);
        }
      };
      check("%d", 0, true);
      for (uint64_t one : {uint64_t{0}, uint64_t{7}, uint64_t{1} << 40, uint64_t{6700417} << 39, ~uint64_t{0},
                           (uint64_t{1} << 63) + 5})
        check("%one", one, false);
      for (uint64_t number :
           {uint64_t{7}, uint64_t{1} << 33, uint64_t{1000000007}, uint64_t{10000000000000000000u}})
        check(std::to_string(number), number, false);
    }
  }
}
