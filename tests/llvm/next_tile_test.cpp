// Blocks that read a tile and store after a barrier: the next block's tile is prefetched where they store.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/llvm/prefetches.h"
#include "tests/llvm/run_over_numbers.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kWidth = 64, kHeight = 4;

// out[y][x] = 3 * in[row of the block's opposite thread][x]. `guard` is before the load.
std::string KernelOf(const std::string& shape, const std::string& guard = "") {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid )" +
         shape + R"(
{
  .reg .pred %p<4>; .reg .b32 %n, %v, %a<8>, %x, %y, %i; .reg .b64 %in, %out, %at;
  .shared .align 4 .b8 tile[4096];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %tid.x;
  mov.u32 %a1, %tid.y;
  mov.u32 %a2, %ctaid.x;
  mov.u32 %a3, %ctaid.y;
  mov.u32 %a4, %ntid.x;
  mov.u32 %a5, %ntid.y;
  mad.lo.u32 %x, %a2, %a4, %a0;
  mad.lo.u32 %y, %a3, %a5, %a1;
  mad.lo.u32 %i, %y, %n, %x;
  mad.lo.u32 %a6, %a1, %a4, %a0;
  shl.b32 %a6, %a6, 2;
  mov.u32 %a7, tile;
  add.u32 %a6, %a6, %a7;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  mov.u32 %v, 7;
)" + guard +
         R"(
  ld.global.u32 %v, [%in];
loaded:
  st.shared.u32 [%a6], %v;
  bar.sync 0;
  sub.u32 %a1, %a5, %a1;
  sub.u32 %a1, %a1, 1;
  mad.lo.u32 %a6, %a1, %a4, %a0;
  shl.b32 %a6, %a6, 2;
  add.u32 %a6, %a6, %a7;
  ld.shared.u32 %v, [%a6];
  mul.lo.u32 %v, %v, 3;
  st.global.u32 [%out], %v;
  ret;
}
)";
}

bool Prefetches(const std::string& shape, const std::string& guard = "") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  auto text =
      (*jit)->Explain(BuildKernel(KernelOf(shape, guard), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  return HasPrefetch(*text, false);
}

std::vector<uint32_t> Run(const lowering::JitOptions& options, uint32_t columns, uint32_t rows) {
  const uint32_t length = columns * kWidth;
  return RunOverNumbers(BuildKernel(KernelOf("64, 4"), "k"), options, {columns, rows, 1},
                        {kWidth, kHeight, 1}, length * rows * kHeight, length);
}

}  // namespace

TEST_CASE("the tile of the next block is prefetched", "[prefetch]") {
  CHECK(Prefetches("64, 4"));
  CHECK(Prefetches("64, 4", "  setp.ge.u32 %p0, %x, %n;\n  @%p0 bra loaded;\n"));
  CHECK_FALSE(Prefetches("64, 4", "  setp.ne.u32 %p0, %a0, 0;\n  @%p0 bra loaded;\n"));  // one lane's
  CHECK_FALSE(Prefetches("256"));                                                        // one row
}

TEST_CASE("blocks that prefetch a tile store the same at every width", "[prefetch][long]") {
  for (const auto& [columns, rows] : {std::pair(1u, 1u), {3u, 2u}, {5u, 1u}}) {
    const uint32_t length = columns * kWidth;
    std::vector<uint32_t> expected(length * rows * kHeight);
    for (uint32_t i = 0; i < expected.size(); ++i) {
      const uint32_t y = i / length, opposite = y / kHeight * kHeight + kHeight - 1 - y % kHeight;
      expected[i] = 3 * (opposite * length + i % length);
    }
    for (const char* target : {"native", "x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
      for (const uint32_t width : {0u, 1u, 4u, 8u, 16u, 32u, 64u}) {
        INFO(columns << " x " << rows << " blocks, " << target << ", width " << width);
        const auto found =
            Run({.target = *lowering::ResolveTarget(target), .lane_width = width}, columns, rows);
        CHECK(found == expected);
      }
    }
  }
}
