// Predicates that rows of threads store and the block counts: read row by row, as they are stored.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// Each thread: how many words of the block are below n, and whether any is above 2^31 + n.
std::string Kernel(uint32_t x, uint32_t y) {
  return kHead + ".visible .entry k(.param .u64 pout, .param .u32 pn)\n.reqntid " + std::to_string(x) + ", " +
         std::to_string(y) + R"(
{
  .reg .pred %p, %q; .reg .b32 %t, %v, %n, %c; .reg .b64 %out, %d;
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %t, %ntid.x;
  mov.u32 %v, %tid.y;
  mov.u32 %c, %tid.x;
  mad.lo.u32 %t, %t, %v, %c;
  mul.wide.u32 %d, %t, 4;
  add.s64 %out, %out, %d;
  ld.global.u32 %v, [%out];
  setp.lt.u32 %p, %v, %n;
  barrier.red.popc.u32 %c, 0, %p;
  add.u32 %n, %n, 0x80000000;
  setp.gt.u32 %q, %v, %n;
  barrier.red.or.pred %q, 0, %q;
  shl.b32 %c, %c, 1;
  @%q add.u32 %c, %c, 1;
  st.global.u32 [%out], %c;
  ret;
}
)";
}

SharedKernel Compiled(uint32_t x, uint32_t y, const char* target, uint32_t width) {
  return CompileText(Kernel(x, y), {.target = *lowering::ResolveTarget(target), .lane_width = width});
}

std::vector<std::byte> Run(JitKernel& kernel, uint32_t x, uint32_t y, uint32_t n) {
  harness::KernelCall call{{1, 1, 1}, {x, y, 1}, 0, {}, {}, {}};
  call.arguments = {MixedWords(size_t{x} * y), *rt::ParseSpec("u32:" + std::to_string(n))};
  RunOrFail(kernel, call);
  return call.arguments[0].data;
}

std::string CodeOf(uint32_t x, uint32_t y) {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  auto code = (*jit)->Explain(BuildKernel(Kernel(x, y), "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  return *code;
}

}  // namespace

TEST_CASE("counts of predicates are those of threads one by one", "[predicates]") {
  for (const auto& [x, y] : {std::pair{16u, 8u}, {8u, 8u}, {16u, 3u}, {32u, 4u}, {24u, 4u}, {4u, 16u}}) {
    const SharedKernel scalar = Compiled(x, y, "native", 1);
    for (const char* target : {"native", "x86-64-v3"}) {
      for (const uint32_t width : {0u, 8u, 32u}) {
        const SharedKernel kernel = Compiled(x, y, target, width);
        for (const uint32_t n : {0u, 5u, 0x40000000u, 0x7f000000u}) {
          INFO(x << " x " << y << ", " << target << ", " << width << ": " << n);
          CHECK(Run(*kernel, x, y, n) == Run(*scalar, x, y, n));
        }
      }
    }
  }
}

TEST_CASE("what a row of threads has stored is one load", "[predicates]") {
  CHECK(CodeOf(16, 8).find("load <16 x i8>") != std::string::npos);
  CHECK(CodeOf(16, 8).find("load <32 x i8>") == std::string::npos);
}
