// Code that the lanes of a warp run one by one, where few of them are left: it goes from one that runs to the
// next, without asking each.
#include <catch2/catch.hpp>
#include <utility>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// Every third thread stays. Each of those that do adds i to a word after a count of its own, twice, with a
// barrier of the warp's remaining lanes between.
const std::string kFewLanes = kHead + R"(
.visible .entry k(.param .u64 psum, .param .u64 pout)
{
  .reg .pred %p; .reg .b32 %i, %n, %old, %mask, %part; .reg .b64 %sum, %out, %at;
  ld.param.u64 %sum, [psum];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  rem.u32 %part, %i, 3;
  setp.ne.u32 %p, %part, 0;
  @%p bra END;
  activemask.b32 %mask;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  atom.global.add.u32 %old, [%sum], 1;
  st.global.u32 [%out], %old;
  bar.warp.sync %mask;
  atom.global.exch.b32 %n, [%sum+4], %i;
  atom.global.add.u32 %old, [%sum+8], %n;
END:
  ret;
}
)";

constexpr uint32_t kThreads = 70;

lowering::JitOptions Options(const std::string& target, uint32_t width = 0) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

std::vector<uint32_t> Run(const lowering::JitOptions& options) {
  auto jit = lowering::Jit::Create(options);
  REQUIRE(jit);
  auto compiled = (*jit)->Add(BuildKernel(kFewLanes, "k"));
  if (!compiled) FAIL(compiled.error().Render());
  std::vector<uint32_t> words(3 + kThreads);
  struct {
    uint32_t *sum, *out;
  } params{words.data(), words.data() + 3};
  const auto error = rt::Launch(*compiled->kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)), {.max_workers = 1});
  if (error) FAIL(error->message);
  return words;
}

}  // namespace

TEST_CASE("lanes one by one go from one that is left to the next", "[few_lanes]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v3", 1));
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(kFewLanes, "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  CHECK(code->find("@llvm.cttz.i32") != std::string::npos);
  CHECK(code->find("live_lane") == std::string::npos);
}

TEST_CASE("few lanes compute the same one by one and as vectors", "[few_lanes]") {
  std::vector<uint32_t> expected(3 + kThreads);
  uint32_t before = 0;
  for (uint32_t i = 0; i < kThreads; i += 3) {
    expected[3 + i] = expected[0]++;
    expected[2] += std::exchange(before, i);
    expected[1] = i;
  }
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    for (const uint32_t width : {0u, 1u, 8u, 32u}) {
      INFO(target << ", width " << width);
      CHECK(Run(Options(target, width)) == expected);
    }
  }
}
