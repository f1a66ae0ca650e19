// decide-by-ranges: tests for what a compiler's unrolled loop leaves over go where the block's shape decides
// them, and nothing else changes.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// for (i = tid; i < 512; i += 256) mine += i, unrolled by four with a part before for what is left over.
const std::string kUnrolled = R"(  %c1ff = const i32 0x1ff
  %c100 = const i32 0x100
  %c300 = const i32 0x300
  %eight = const i32 0x8
  %none = icmp i32 ugt %tid, %c1ff
  cond_br %none, ^end(%v), ^enter
^enter:
  %left = sub i32 %c1ff, %tid
  %whole = shr_u i32 %left, %eight
  %trips = add i32 %whole, %one
  %rest = and i32 %trips, %three
  %exact = icmp i32 eq %rest, %zero
  cond_br %exact, ^four(%tid, %v), ^first
^first:
  %s1 = add i32 %v, %tid
  %i1 = add i32 %tid, %c100
  %is1 = icmp i32 eq %rest, %one
  cond_br %is1, ^four(%i1, %s1), ^second
^second:
  %s2 = add i32 %s1, %i1
  %i2 = add i32 %i1, %c100
  %is2 = icmp i32 eq %rest, %two
  cond_br %is2, ^four(%i2, %s2), ^third
^third:
  %s3 = add i32 %s2, %i2
  %i3 = add i32 %i2, %c100
  br ^four(%i3, %s3)
^four(%i: i32, %s: i32):
  %few = icmp i32 ult %left, %c300
  cond_br %few, ^end(%s), ^more(%i, %s)
^more(%j: i32, %t: i32):
  %more_t = add i32 %t, %j
  %more_j = add i32 %j, %c100
  %again = icmp i32 ult %more_j, %c1ff
  cond_br %again, ^more(%more_j, %more_t), ^end(%more_t)
^end(%sum: i32):
  store i32 global %mine, %sum
  ret
)";

ir::Module Kernel(uint32_t threads) {
  ir::Module module = BarrierModule(kUnrolled);
  ir::Function& f = module.functions.back();
  f.required_threads[0] = threads, f.required_threads[1] = f.required_threads[2] = 1;
  return module;
}

uint32_t Branches(const ir::Module& module) {
  return CountInstructions(module.functions.back(),
                           [](const ir::Inst& inst) { return inst.op == ir::Opcode::kCondBr; });
}

}  // namespace

TEST_CASE("the block's shape decides what an unrolled loop leaves over", "[passes]") {
  for (const uint32_t threads : {256u, 512u, 96u, 544u}) {
    INFO(threads << " threads");
    const ir::Module module = Kernel(threads);
    Result<ir::Module> after = After(module, "simplify");
    if (!after) FAIL(after.error().Render());
    // With up to 256 threads each takes two trips; with 512 also, which bounds alone do not show; with 544
    // some take none.
    CHECK((Branches(*after) == 0) == (threads <= 256));
    const Outcome before = RunKernel(module, module.functions.back(), threads, 0);
    REQUIRE(before.status);
    const Outcome same = RunKernel(*after, after->functions.back(), threads, 0);
    if (!same.status) FAIL(same.status.error().Render());
    CHECK(same.data == before.data);
  }
}
