// Lines that a block stores are fetched for writing in the region before.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/llvm/prefetches.h"
#include "tests/llvm/run_over_numbers.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 128;

// Block b writes out[b][i] = in[b][i] + the sum that thread 127 - tid has of in[b]; i from tid in steps of
// `step` in the first loop and of 128 in the second one.
std::string KernelOf(const std::string& step, const std::string& to = "%out") {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 128
{
  .reg .pred %p<4>; .reg .b32 %n, %v, %a<8>, %i, %row, %sum; .reg .b64 %in, %out, %at, %d<4>;
  .shared .align 4 .b8 sums[512];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %tid.x;
  mov.u32 %a1, %ctaid.x;
  mul.lo.u32 %row, %a1, %n;
  mov.u32 %sum, 0;
  mov.u32 %i, %a0;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra SUMMED;
FIRST:
  add.u32 %a2, %row, %i;
  mul.wide.u32 %d0, %a2, 4;
  add.s64 %at, %in, %d0;
  ld.global.u32 %v, [%at];
  add.u32 %sum, %sum, %v;
  add.u32 %i, %i, )" +
         step + R"(;
  setp.lt.u32 %p1, %i, %n;
  @%p1 bra FIRST;
SUMMED:
  mov.u32 %a3, sums;
  shl.b32 %a4, %a0, 2;
  add.u32 %a4, %a3, %a4;
  st.shared.u32 [%a4], %sum;
  bar.sync 0;
  sub.u32 %a5, 127, %a0;
  shl.b32 %a5, %a5, 2;
  add.u32 %a5, %a3, %a5;
  ld.shared.u32 %sum, [%a5];
  mov.u32 %i, %a0;
  setp.ge.u32 %p2, %i, %n;
  @%p2 bra DONE;
SECOND:
  add.u32 %a6, %row, %i;
  mul.wide.u32 %d1, %a6, 4;
  add.s64 %at, %in, %d1;
  ld.global.u32 %v, [%at];
  add.u32 %v, %v, %sum;
  add.s64 %at, )" +
         to + R"(, %d1;
  st.global.u32 [%at], %v;
  add.u32 %i, %i, 128;
  setp.lt.u32 %p3, %i, %n;
  @%p3 bra SECOND;
DONE:
  ret;
}
)";
}

bool FetchesForWriting(const std::string& ptx) {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(ptx, "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  return HasPrefetch(*text, true);
}

std::vector<uint32_t> Run(const lowering::JitOptions& options, uint32_t blocks, uint32_t length) {
  return RunOverNumbers(BuildKernel(KernelOf("128"), "k"), options, {blocks, 1, 1}, {kThreads, 1, 1},
                        blocks * length, length);
}

}  // namespace

TEST_CASE("what a block stores is fetched for writing in the region before", "[prefetch]") {
  CHECK(FetchesForWriting(KernelOf("128")));
  CHECK_FALSE(FetchesForWriting(KernelOf("256")));         // other trips
  CHECK_FALSE(FetchesForWriting(KernelOf("128", "%in")));  // read before, so it is there
}

TEST_CASE("blocks that fetch for writing store the same at every width", "[prefetch][long]") {
  for (const auto& [blocks, length] : {std::pair(3u, 512u), {2u, 300u}, {4u, 77u}}) {
    std::vector<uint32_t> expected(size_t{blocks} * length);
    for (uint32_t i = 0; i < expected.size(); ++i) {
      const uint32_t row = i / length * length;
      expected[i] = i;
      for (uint32_t x = kThreads - 1 - i % length % kThreads; x < length; x += kThreads)
        expected[i] += row + x;
    }
    for (const char* target : {"native", "x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
      for (const uint32_t width : {0u, 1u, 4u, 8u, 16u, 32u, 64u}) {
        INFO(blocks << " blocks of " << length << ", " << target << ", width " << width);
        CHECK(Run({.target = *lowering::ResolveTarget(target), .lane_width = width}, blocks, length) ==
              expected);
      }
    }
  }
}
