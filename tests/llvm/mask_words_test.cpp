// Masks of lanes that diverge in a loop, on machines whose masks are vectors of words: results are those of
// threads one by one, and no vector of bits is passed from trip to trip.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 200;

// A thread takes trips until its word is 1 or it has taken 70, more where a `type` is above a bound; lanes
// that skip the middle of a trip or leave it early diverge from the others.
std::string Kernel(const std::string& type) {
  const std::string bits = type.substr(1), wide = bits == "64" ? "rd" : "r";
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p<6>; .reg .b32 %r<8>, %t, %trips; .reg .b64 %rd<8>, %at, %out; .reg .f32 %f<4>; .reg .f64 %fd<4>;
  ld.param.u64 %at, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %rd7, %t, 4;
  add.s64 %at, %at, %rd7;
  add.s64 %out, %out, %rd7;
  ld.global.u32 %r1, [%at];
  cvt.u64.u32 %rd1, %r1;
  mov.u32 %trips, 0;
LOOP:
  add.u32 %trips, %trips, 1;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p0, %r2, 0;
  @%p0 bra EVEN;
  mad.lo.u32 %r1, %r1, 3, 1;
  setp.gt.u32 %p1, %r1, 90000;
  @%p1 bra DONE;
  bra NEXT;
EVEN:
  shr.u32 %r1, %r1, 1;
  cvt.u64.u32 %rd1, %r1;
NEXT:
  setp.lt.)" +
         type + " %p2, %" + wide + R"(1, 40;
  setp.ne.u32 %p3, %r1, 1;
  and.pred %p4, %p2, %p3;
  @%p4 add.u32 %trips, %trips, 100;
  setp.lt.and.u32 %p5, %trips, 70, %p3;
  @%p5 bra LOOP;
DONE:
  mad.lo.u32 %r1, %trips, 1000, %r1;
  st.global.u32 [%out], %r1;
  ret;
}
)";
}

// Differences of f64 elements and those of their neighbours, where a word of the thread wants them.
std::string Neighbours() {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p<4>; .reg .b32 %r<4>, %t; .reg .b64 %rd<4>, %in, %out; .reg .f64 %v, %w;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  setp.ge.u32 %p0, %t, 96;
  @%p0 bra DONE;
  mul.wide.u32 %rd1, %t, 4;
  add.s64 %rd2, %in, %rd1;
  ld.global.u32 %r1, [%rd2];
  and.b32 %r1, %r1, 7;
  add.s64 %rd1, %rd1, %rd1;
  add.s64 %in, %in, %rd1;
  add.s64 %out, %out, %rd1;
  ld.global.f64 %v, [%in+8];
  add.f64 %v, %v, %v;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra RIGHT;
  ld.global.f64 %w, [%in];
  sub.f64 %v, %v, %w;
RIGHT:
  setp.eq.u32 %p2, %r1, 6;
  @%p2 bra STORE;
  ld.global.f64 %w, [%in+16];
  sub.f64 %v, %v, %w;
STORE:
  st.global.f64 [%out], %v;
DONE:
  ret;
}
)";
}

std::vector<std::byte> Run(const std::string& text, const lowering::JitOptions& options) {
  const SharedKernel kernel = CompileText(text, options);
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (int argument = 0; argument < 2; ++argument) {
    auto words = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(words);
    words->data.resize(size_t{4} * kThreads);
    for (uint32_t i = 0; i < kThreads; ++i) {
      const uint32_t word = 1 + (i * 2654435761u >> 20);
      std::memcpy(words->data.data() + size_t{4} * i, &word, 4);
    }
    call.arguments.push_back(std::move(*words));
  }
  RunOrFail(*kernel, call);
  return call.arguments[1].data;
}

std::string CodeOf(const std::string& text, const char* target) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = 16});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  return *code;
}

}  // namespace

TEST_CASE("masks as words are those of threads one by one", "[masks]") {
  test::Sample sample(7);
  for (const std::string& text : {Kernel("u32"), Kernel("u64"), Neighbours()}) {
    const auto plain = Run(text, {.lane_width = 1});
    for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
      for (const unsigned width : {4u, 8u, 16u, 32u, 64u}) {
        INFO(text << target << ", width " << width);
        if (sample.Skips()) continue;
        CHECK(Run(text, {.target = *lowering::ResolveTarget(target), .lane_width = width}) == plain);
      }
    }
  }
}

TEST_CASE("where masks are vectors of words, no vector of bits goes from trip to trip", "[masks]") {
  const std::string text = Kernel("u32"), bits = "phi <16 x i1>";
  CHECK(CodeOf(text, "x86-64-v4").find(bits) != std::string::npos);
  for (const char* target : {"x86-64-v3", "x86-64-v2"})
    CHECK(CodeOf(text, target).find(bits) == std::string::npos);
}

TEST_CASE("where masks are vectors of words, those of longer elements are widened once", "[masks]") {
  const std::string code = CodeOf(Neighbours(), "x86-64-v3");
  CHECK(code.find("sext <16 x i1>") != std::string::npos);
  CHECK(code.find("icmp slt <16 x i64>") != std::string::npos);
}
