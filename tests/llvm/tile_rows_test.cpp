// Vectors that go over the end of a row: what lies side by side up to some lane, and from there on again, is
// two accesses. Results are those of threads one by one, for rows of every length.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96, kPitch = 100, kWords = 100 * kPitch;

// Threads lie in rows of `row` of a matrix of which rows have kPitch words; of each row the first `skipped`
// do nothing. A thread copies its word of the matrix to its own one of `out`, and adds its number to the
// former.
std::string Kernel(uint32_t row, uint32_t skipped) {
  const std::string length = std::to_string(row), pitch = std::to_string(kPitch);
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p; .reg .b32 %i, %x, %y, %v; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  div.u32 %y, %i, )" +
         length + ";\n  mul.lo.u32 %x, %y, " + length + ";\n  sub.u32 %x, %i, %x;\n  setp.lt.u32 %p, %x, " +
         std::to_string(skipped) + ";\n  @%p bra DONE;\n  mad.lo.u32 %y, %y, " + pitch + R"(, %x;
  mul.wide.u32 %at, %y, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  st.global.u32 [%out], %v;
  add.u32 %v, %v, %i;
  st.global.u32 [%at], %v;
DONE:
  ret;
}
)";
}

std::vector<std::vector<std::byte>> Run(const std::string& text, const lowering::JitOptions& options) {
  const SharedKernel kernel = CompileText(text, options);
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t size : {kWords, kThreads}) {
    call.arguments.push_back(MixedWords(size));
  }
  RunOrFail(*kernel, call);
  return {call.arguments[0].data, call.arguments[1].data};
}

std::string CodeOf(const std::string& text, const char* target, unsigned width) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(text, "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  return *code;
}

}  // namespace

TEST_CASE("vectors over the ends of rows access what their threads do", "[tiles]") {
  test::Sample sample(11);
  for (const uint32_t row : {5u, 17u, 20u, 50u}) {
    for (const uint32_t skipped : {0u, 3u}) {
      const std::string text = Kernel(row, skipped);
      const auto plain = Run(text, {.lane_width = 1});
      for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
        for (const unsigned width : {8u, 16u, 64u}) {
          if (sample.Skips()) continue;
          INFO("rows of " << row << " without " << skipped << ", " << target << ", width " << width);
          CHECK(Run(text, {.target = *lowering::ResolveTarget(target), .lane_width = width}) == plain);
        }
      }
    }
  }
}

TEST_CASE("a vector over the end of a row is two accesses where masks exist", "[tiles]") {
  // A quotient that is known as one needs no look at the addresses (two_runs_test).
  std::string text = Kernel(20, 0);
  const std::string division = "div.u32 %y, %i, 20;";
  text.replace(text.find(division), division.size(), "mul.lo.u32 %y, %i, 13;\n  shr.u32 %y, %y, 8;");
  auto has_runs = [&](const char* target) {
    return CodeOf(text, target, 16).find("two_runs") != std::string::npos;
  };
  CHECK(has_runs("x86-64-v4"));
  CHECK(has_runs("x86-64-v3"));
  CHECK_FALSE(has_runs("x86-64-v2"));
}
