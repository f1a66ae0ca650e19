// Blocks that each read rows of a matrix: the next block's are prefetched where no processor foresees them.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// out[block * 32 + lane] = sum of x[block * `apart` + lane + 32 * trip]
std::string KernelOf(const std::string& apart) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 plength)
.reqntid 32
{
  .reg .pred %p; .reg .b32 %i, %v, %sum, %length, %block, %lane, %first; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %length, [plength];
  mov.u32 %block, %ctaid.x;
  mov.u32 %lane, %tid.x;
  mul.lo.u32 %first, %block, )" +
         apart + R"(;
  mov.u32 %i, %lane;
  mov.u32 %sum, 0;
  setp.ge.u32 %p, %i, %length;
  @%p bra end;
  mul.wide.u32 %at, %first, 4;
  add.s64 %in, %in, %at;
  mul.wide.u32 %at, %lane, 4;
  add.s64 %in, %in, %at;
again:
  ld.global.u32 %v, [%in];
  add.u32 %sum, %sum, %v;
  add.s64 %in, %in, 128;
  add.u32 %i, %i, 32;
  setp.lt.u32 %p, %i, %length;
  @%p bra again;
end:
  mad.lo.u32 %i, %block, 32, %lane;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  st.global.u32 [%out], %sum;
  ret;
}
)";
}

bool Prefetches(const std::string& apart) {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(KernelOf(apart), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  return text->find("call void @llvm.prefetch") != std::string::npos;
}

}  // namespace

TEST_CASE("the rows of the next block are prefetched", "[prefetch]") {
  CHECK(Prefetches("%length"));
  CHECK_FALSE(Prefetches("32"));  // side by side
}

TEST_CASE("the last block prefetches nothing beyond its rows, and sums are right", "[prefetch]") {
  auto kernel = JitKernel::Create(BuildKernel(KernelOf("%length"), "k"));
  if (!kernel) FAIL(kernel.error().Render());
  constexpr uint32_t kBlocks = 5, kLength = 96;
  harness::KernelCall call{{kBlocks, 1, 1}, {32, 1, 1}, 0, {}, {}, {}};
  const std::vector<std::string> specs{"in:u32:gen(iota," + std::to_string(kBlocks * kLength) + ",0)",
                                       "out:u32:" + std::to_string(kBlocks * 32),
                                       "u32:" + std::to_string(kLength)};
  for (const std::string& spec : specs) {
    auto argument = rt::ParseSpec(spec);
    REQUIRE(argument);
    call.arguments.push_back(std::move(*argument));
  }
  RunOrFail(**kernel, call);
  std::vector<uint32_t> out(kBlocks * 32);
  std::memcpy(out.data(), call.arguments[1].data.data(), 4 * out.size());
  for (uint32_t i = 0; i < out.size(); ++i) CHECK(out[i] == 3 * (i / 32 * kLength + i % 32 + 32));
}
