// .ftz: what is never subnormal is not flushed, what may be is, also through loops and shuffles.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <sstream>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 64, kTrips = 5;

// From words w and floats x: halves and integers make products, which a loop adds; a float of any kind comes
// to the sum, and lanes exchange it. `loop`: with a loop around the sum.
std::string Kernel(bool loop) {
  const std::string trips = loop ? std::to_string(kTrips) : "1";
  return kHead + R"(
.visible .entry k(.param .u64 pwords, .param .u64 pfloats, .param .u64 pout)
.reqntid 64
{
  .reg .pred %p; .reg .b16 %h, %other; .reg .b32 %i, %n, %w, %bits, %moved; .reg .b64 %words, %floats, %out, %at;
  .reg .f32 %half, %whole, %product, %sum, %x, %far, %r;
  ld.param.u64 %words, [pwords];
  ld.param.u64 %floats, [pfloats];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %words, %words, %at;
  add.s64 %floats, %floats, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %w, [%words];
  mov.b32 {%h, %other}, %w;
  cvt.f32.f16 %half, %h;
  shr.s32 %w, %w, 20;
  cvt.rn.f32.s32 %whole, %w;
  mul.ftz.f32 %product, %half, %half;
  mov.f32 %sum, 0f00000000;
)" + (loop ? "  mov.u32 %n, 0;\nagain:\n" : "") +
         "  fma.rn.ftz.f32 %sum, %product, %whole, %sum;\n" +
         (loop ? "  neg.ftz.f32 %sum, %sum;\n  add.u32 %n, %n, 1;\n  setp.lt.u32 %p, %n, " + trips +
                     ";\n  @%p bra again;\n"
               : "") +
         R"(  ld.global.f32 %x, [%floats];
  add.ftz.f32 %sum, %sum, %x;
  mov.b32 %bits, %sum;
  shfl.sync.bfly.b32 %moved, %bits, 4, 31, -1;
  mov.b32 %far, %moved;
  max.ftz.f32 %far, %far, %product;
  add.ftz.f32 %r, %far, %sum;
  st.global.f32 [%out], %r;
  ret;
}
)";
}

float Flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float OfHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(bits & 1023), -24)
                                        : std::ldexp(static_cast<float>(1024 + (bits & 1023)), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

std::vector<float> Expected(const std::vector<uint32_t>& words, const std::vector<float>& floats, bool loop) {
  std::vector<float> sums(kThreads), products(kThreads), out(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) {
    const float half = OfHalf(static_cast<uint16_t>(words[i]));
    const auto whole = static_cast<float>(static_cast<int32_t>(words[i]) >> 20);
    products[i] = Flush(half * half);
    float sum = 0;
    for (uint32_t n = 0; n < (loop ? kTrips : 1); ++n) {
      sum = Flush(std::fma(products[i], whole, sum));
      if (loop) sum = -sum;
    }
    sums[i] = Flush(sum + Flush(floats[i]));
  }
  for (uint32_t i = 0; i < kThreads; ++i) {
    const float far = std::max(products[i], sums[i ^ 4]);
    out[i] = Flush(far + sums[i]);
  }
  return out;
}

void CheckRun(const std::string& target, bool loop) {
  std::mt19937 random(11);
  std::vector<uint32_t> words(kThreads);
  std::vector<float> floats(kThreads);
  for (uint32_t i = 0; i < kThreads; ++i) {
    words[i] = static_cast<uint32_t>(random()) & 0xfff0bbff;  // no half is infinite or NaN
    if (i % 3 == 0) words[i] &= 0xfff083ff;                   // a subnormal half
    if (i % 5 == 0) words[i] &= 0x000fffff;                   // times 0
    floats[i] =
        std::bit_cast<float>(static_cast<uint32_t>(random()) & 0x80ffffff);  // small ones of each kind
  }
  auto kernel =
      JitKernel::Create(BuildKernel(Kernel(loop), "k"), {.target = *lowering::ResolveTarget(target)});
  if (!kernel) FAIL(kernel.error().Render());
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const void* data : {static_cast<const void*>(words.data()), static_cast<const void*>(floats.data()),
                           static_cast<const void*>(words.data())}) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(4 * kThreads);
    std::memcpy(parsed->data.data(), data, 4 * kThreads);
    call.arguments.push_back(std::move(*parsed));
  }
  RunOrFail(**kernel, call);
  std::vector<float> out(kThreads);
  std::memcpy(out.data(), call.arguments[2].data.data(), 4 * kThreads);
  const std::vector<float> expected = Expected(words, floats, loop);
  for (uint32_t i = 0; i < kThreads; ++i) {
    INFO(target << (loop ? ", loop, thread " : ", thread ") << i);
    CHECK(std::bit_cast<uint32_t>(out[i]) == std::bit_cast<uint32_t>(expected[i]));
  }
}

}  // namespace

TEST_CASE("results of .ftz are exact where flushes are left out", "[flush]") {
  for (const std::string target : {"x86-64-v2", "x86-64-v3", "native"}) {
    for (const bool loop : {false, true}) CheckRun(target, loop);
  }
}

TEST_CASE("what is never subnormal is not flushed", "[flush]") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(Kernel(false), "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  // Each flush compares the bits of the exponent. The product of halves and a sum of integers' products need
  // none, and the processor flushes the results of two additions; the loaded float does.
  size_t flushes = 0;
  std::istringstream lines(*code);
  for (std::string line; std::getline(lines, line);)
    flushes += line.find(" and ") != std::string::npos && line.find("i32 2139095040") != std::string::npos;
  CHECK(flushes == 1);
}
