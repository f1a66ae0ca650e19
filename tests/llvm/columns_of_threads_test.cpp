// Blocks whose rows have one thread: their columns are vectors.
#include <catch2/catch.hpp>

#include "lowering/compile.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/llvm/run_over_numbers.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kBlocks = 3;

// out[i] = in[i] + block.x * ntid.x + tid.x, of thread i = (block.x * ntid.z + tid.z) * ntid.y + tid.y
const std::string kColumns = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %v, %x, %a<4>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mad.lo.u32 %x, %a0, %a1, %a2;
  mov.u32 %a1, %ntid.z;
  mov.u32 %a2, %tid.z;
  mad.lo.u32 %i, %a0, %a1, %a2;
  mov.u32 %a1, %ntid.y;
  mov.u32 %a2, %tid.y;
  mad.lo.u32 %i, %i, %a1, %a2;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %v, [%in];
  add.u32 %v, %v, %x;
  st.global.u32 [%out], %v;
done:
  ret;
}
)";

ir::Module KernelFor(analysis::LaunchShape block) {
  lowering::BuildOptions options;
  options.pipeline.passes.launch = block;
  const auto ptx = lowering::PtxModule::Parse(kColumns, "columns");
  REQUIRE(ptx);
  auto module = ptx->Build("k", options);
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

}  // namespace

TEST_CASE("threads of a column are lanes of vectors", "[columns]") {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .lane_width = 16});
  REQUIRE(jit);
  const auto report = (*jit)->ReportLanes(KernelFor({1, 128, 1}), "k");
  REQUIRE(report);
  REQUIRE(report->loops.size() == 1);
  CHECK(report->loops[0].width == 16);
  CHECK(report->loops[0].loads.consecutive == 1);
  CHECK(report->loops[0].stores.consecutive == 1);
}

TEST_CASE("columns of each shape give what single threads do", "[columns]") {
  for (const analysis::LaunchShape block :
       {analysis::LaunchShape{1, 256, 1}, {1, 100, 1}, {1, 64, 3}, {1, 20, 3}, {1, 1, 5}, {2, 64, 1}}) {
    const uint32_t per_block = block.y * block.z, count = per_block * kBlocks, live = count - 7;
    for (const char* target : {"native", "x86-64-v3"}) {
      INFO(block.x << "x" << block.y << "x" << block.z << ", " << target);
      const std::vector<uint32_t> out =
          RunOverNumbers(KernelFor(block), {.target = *lowering::ResolveTarget(target)}, {kBlocks, 1, 1},
                         {block.x, block.y, block.z}, count, live);
      for (uint32_t i = 0; i < count; ++i) {
        // Where several threads of a row store, any of their numbers may remain.
        const uint32_t least = i + i / per_block * block.x;
        CHECK((i < live ? out[i] >= least && out[i] < least + block.x : out[i] == 0));
      }
    }
  }
}
