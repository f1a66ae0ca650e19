// The threads of a block are steps of a loop: code that does not become longer with the block.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// 32 products of each thread; with `warp`, a shuffle in front of the last of them.
std::string Kernel(uint32_t threads, bool warp) {
  std::string body;
  for (int i = 0; i < 32; ++i) {
    if (i == 31 && warp) body += "  shfl.sync.bfly.b32 %a, %a, 1, 31, 0xffffffff;\n";
    body += "  mul.lo.u32 %b, %a, %a;\n  xor.b32 %a, %b, " + std::to_string(77 + i) +
            ";\n  add.u32 %a, %a, %i;\n";
  }
  return kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n.reqntid " + std::to_string(threads) +
         R"(, 1, 1
{
  .reg .b32 %i, %a, %b, %c; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %b, %ctaid.x;
  mov.u32 %c, %ntid.x;
  mov.u32 %a, %tid.x;
  mad.lo.u32 %i, %b, %c, %a;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %a, [%in];
)" + body +
         R"(
  st.global.u32 [%out], %a;
  ret;
}
)";
}

// Products of vectors in the optimised code for blocks of so many threads.
size_t Products(uint32_t threads, bool warp) {
  auto target = lowering::ResolveTarget("x86-64-v4");
  REQUIRE(target);
  auto jit = lowering::Jit::Create({.target = *target});
  REQUIRE(jit);
  const auto code =
      (*jit)->Explain(BuildKernel(Kernel(threads, warp), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  size_t count = 0;
  for (size_t at = code->find("= mul <"); at != std::string::npos; at = code->find("= mul <", at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("code for a block is as long as that for one step of it", "[steps]") {
  for (const bool warp : {false, true}) {
    INFO((warp ? "warps" : "rows"));
    const size_t few = Products(128, warp);
    CHECK(few >= 32);
    for (const uint32_t threads : {256u, 512u, 1024u}) CHECK(Products(threads, warp) == few);
  }
}
