// Kernels whose blocks code generation divides: values of all register kinds with many uses, which each piece
// reads through a copy, and compares of one value that are too many for CodeGenPrepare.
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>
#include <string_view>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96, kSteps = 900;

// Each step uses %t, %v0 (both of the thread), %u and %w (of all).
std::string StraightLine() {
  std::string text = kHead + R"(
.visible .entry k(.param .u64 pout, .param .u64 psum, .param .u32 pu)
{
  .reg .pred %p; .reg .b32 %t, %u, %v, %v0; .reg .b64 %a, %b, %q, %q0, %w; .reg .f32 %f, %f0, %g; .reg .f64 %d, %d0;
  ld.param.u64 %a, [pout];
  ld.param.u64 %b, [psum];
  ld.param.u32 %u, [pu];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %q, %t, 4;
  add.s64 %a, %a, %q;
  add.s64 %b, %b, %q;
  add.s64 %b, %b, %q;
  ld.global.u32 %v0, [%a];
  mov.u32 %v, %v0;
  cvt.u64.u32 %q0, %v0;
  cvt.u64.u32 %w, %u;
  cvt.rn.f32.u32 %f0, %t;
  cvt.rn.f64.u32 %d0, %t;
  mov.f32 %f, 0f3F800000;
  mov.f64 %d, 0d3FF0000000000000;
)";
  for (uint32_t i = 0; i < kSteps; ++i) {
    const std::string number = std::to_string(i);
    text += "  mad.lo.u32 %v, %v, %u, " + number + ";\n  xor.b32 %v, %v, %t;\n  add.u32 %v, %v, %v0;\n" +
            "  mad.lo.u64 %q, %q, %w, %q0;\n  fma.rn.f32 %f, %f, 0f3F000000, %f0;\n" +
            "  fma.rn.f64 %d, %d, 0d3FE0000000000000, %d0;\n";
    if (i % 50 == 49)
      text += "  setp.gt.u32 %p, %v, %v0;\n  selp.b32 %v, %v, %v0, %p;\n  st.global.u32 [%a], %v;\n";
  }
  return text + R"(
  cvt.rzi.u64.f64 %w, %d;
  add.u64 %q, %q, %w;
  cvt.rzi.u64.f32 %w, %f;
  add.u64 %q, %q, %w;
  st.global.u32 [%a], %v;
  st.global.u64 [%b], %q;
  ret;
}
)";
}

struct Results {
  uint32_t word;
  uint64_t sum;
};

Results ExpectedOfStraightLine(uint32_t t, uint32_t u, uint32_t v0) {
  uint32_t v = v0;
  uint64_t q = uint64_t{t} * 4;
  float f = 1;
  double d = 1;
  for (uint32_t i = 0; i < kSteps; ++i) {
    v = ((v * u + i) ^ t) + v0;
    q = q * u + v0;
    f = std::fma(f, 0.5f, static_cast<float>(t));
    d = std::fma(d, 0.5, static_cast<double>(t));
    if (i % 50 == 49 && v <= v0) v = v0;
  }
  return {v, q + static_cast<uint64_t>(d) + static_cast<uint64_t>(f)};
}

// Branches that all threads take together, by compares of one value.
std::string Compares() {
  std::string text = kHead + R"(
.visible .entry k(.param .u64 pout, .param .u64 psum, .param .u32 pu)
{
  .reg .pred %p; .reg .b32 %t, %u, %v; .reg .b64 %a, %q;
  ld.param.u64 %a, [pout];
  ld.param.u32 %u, [pu];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %q, %t, 4;
  add.s64 %a, %a, %q;
  ld.global.u32 %v, [%a];
)";
  for (uint32_t i = 0; i < kSteps; ++i) {
    const std::string number = std::to_string(i);
    text += "  setp.gt.u32 %p, %u, " + number + ";\n  @%p bra $L" + number +
            ";\n  mad.lo.u32 %v, %v, 3, %t;\n$L" + number + ":\n";
  }
  return text + "  st.global.u32 [%a], %v;\n  ret;\n}\n";
}

uint32_t ExpectedOfCompares(uint32_t t, uint32_t u, uint32_t v) {
  for (uint32_t i = 0; i < kSteps; ++i) v = u > i ? v : v * 3 + t;
  return v;
}

// A loop that passes on more registers than a piece of a block holds instructions, each to the next.
std::string PassedOn() {
  std::string text = kHead + R"(
.visible .entry k(.param .u64 pout, .param .u64 psum, .param .u32 pu)
{
  .reg .pred %p; .reg .b32 %t, %u, %v, %w<901>; .reg .b64 %a, %q;
  ld.param.u64 %a, [pout];
  ld.param.u32 %u, [pu];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %q, %t, 4;
  add.s64 %a, %a, %q;
  ld.global.u32 %v, [%a];
  and.b32 %u, %u, 15;
)";
  for (uint32_t i = 0; i < kSteps; ++i)
    text += "  add.u32 %w" + std::to_string(i) + ", %v, " + std::to_string(i) + ";\n";
  text += "$L:\n  mad.lo.u32 %w900, %w0, 3, %t;\n";
  for (uint32_t i = 0; i < kSteps; ++i)
    text += "  mov.b32 %w" + std::to_string(i) + ", %w" + std::to_string(i + 1) + ";\n";
  text +=
      "  sub.u32 %u, %u, 1;\n  setp.ne.u32 %p, %u, 0;\n  setp.lt.and.u32 %p, %u, 16, %p;\n  @%p bra $L;\n";
  for (uint32_t i = 0; i < kSteps; ++i) text += "  mad.lo.u32 %v, %v, 5, %w" + std::to_string(i) + ";\n";
  return text + "  st.global.u32 [%a], %v;\n  ret;\n}\n";
}

uint32_t ExpectedOfPassedOn(uint32_t t, uint32_t u, uint32_t v) {
  std::deque<uint32_t> passed(kSteps);
  std::iota(passed.begin(), passed.end(), v);
  u &= 15;
  do {
    passed.push_back(passed.front() * 3 + t);
    passed.pop_front();
  } while (--u != 0 && u < 16);
  for (const uint32_t word : passed) v = v * 5 + word;
  return v;
}

struct Form {
  std::string_view name;
  std::string (*text)();
  Results (*expected)(uint32_t t, uint32_t u, uint32_t v);
};
constexpr Form kForms[] = {
    {"straight", StraightLine, ExpectedOfStraightLine},
    {"compares", Compares,
     [](uint32_t t, uint32_t u, uint32_t v) { return Results{ExpectedOfCompares(t, u, v), 0}; }},
    {"passed on", PassedOn,
     [](uint32_t t, uint32_t u, uint32_t v) { return Results{ExpectedOfPassedOn(t, u, v), 0}; }},
};

}  // namespace

TEST_CASE("long blocks compute what they would in one piece", "[long_blocks][long]") {
  const Form& form = GENERATE(from_range(std::begin(kForms), std::end(kForms)));
  const uint32_t width = GENERATE(0u, 1u, 16u);
  auto kernel = JitKernel::Create(BuildKernel(form.text(), "k"), {.lane_width = width});
  if (!kernel) FAIL(kernel.error().Render());
  std::mt19937 random(7);
  for (const uint32_t u : {0u, 1u, 5u, 444u, 899u, 0x80000001u, ~0u}) {
    harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
    std::vector<uint32_t> words(kThreads);
    for (uint32_t& word : words) word = static_cast<uint32_t>(random());
    for (const char* spec : {"inout:u32:[0]", "inout:u64:[0]"}) {
      auto parsed = rt::ParseSpec(spec);
      REQUIRE(parsed);
      parsed->data.resize(parsed->data.size() * kThreads);
      call.arguments.push_back(std::move(*parsed));
    }
    std::memcpy(call.arguments[0].data.data(), words.data(), 4 * words.size());
    call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(u)));
    RunOrFail(**kernel, call);
    size_t wrong = 0;
    for (uint32_t t = 0; t < kThreads; ++t) {
      Results actual{};
      std::memcpy(&actual.word, &call.arguments[0].data[4 * t], 4);
      std::memcpy(&actual.sum, &call.arguments[1].data[8 * t], 8);
      const Results expected = form.expected(t, u, words[t]);
      wrong += actual.word != expected.word || actual.sum != expected.sum;
    }
    INFO(form.name << " with " << u << ", width " << width);
    CHECK(wrong == 0);
  }
}
