// Loads that every thread of a block answers alike: body by body.
#include "analysis/values/settled_loads.h"

#include <catch2/catch.hpp>

#include "analysis/values/uniformity.h"
#include "ir/text/text.h"

using namespace ptx2cpu;

namespace {

// Whether the load `%x` of a body is settled; the value is uniform in the block then.
bool Settled(const std::string& body) {
  const std::string text = R"(module "m" ptx 8.0 sm 80 static_shared 64
variable shared @s align 4 size 64 offset 0
kernel @k (data: i64 @0) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %at = symbol shared @s
  %zero = const i32 0x0
  %full = const i32 0xffffffff
  %c32 = const i32 0x20
  %tid = special i32 tid.x
  %first = icmp i32 eq %tid, %zero
)" + body + "  store i32 global %data, %x\n  ret\n}\n";
  auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  const ir::Function& f = module->functions[0];
  const std::vector<bool> settled = analysis::FindSettledLoads(f);
  const analysis::UniformityResult uniformity = analysis::AnalyzeUniformity(f);
  for (uint32_t n = 0; n < f.insts.size(); ++n) {
    const ir::Inst& inst = f.insts[n];
    if (inst.op != ir::Opcode::kStore || inst.operands.size() != 2) continue;
    const ir::Value& value = f.at_value(inst.operands[1]);
    if (!value.def.valid() || f.at_inst(value.def).op != ir::Opcode::kLoad) continue;
    const bool is = settled[value.def.index];
    CHECK(uniformity.UniformAt(inst.operands[1], ir::Level::kBlock) == is);
    return is;
  }
  FAIL("no store of a loaded value");
  return false;
}

}  // namespace

TEST_CASE("a weak load after a barrier is the same for all threads unless they learn of others' progress",
          "[analysis]") {
  const std::string barrier = "  barrier_block %zero {aligned}\n", load = "  %x = load i32 shared %at\n",
                    add = "  %o = atomic i32 shared relaxed cta add %at, %zero\n";
  CHECK(Settled(load));
  CHECK(Settled(barrier + load));
  CHECK(Settled(add + barrier + load));
  CHECK(Settled("  %x = load i32 global %data\n"));
  CHECK(Settled("  store i32 shared %at, %tid\n" + barrier + load));
  CHECK_FALSE(Settled(add + load));
  CHECK_FALSE(Settled(barrier + add + load));
  CHECK_FALSE(Settled("  fence acquire gpu\n" + load));
  CHECK_FALSE(Settled("  barrier_warp %full\n" + load));
  CHECK_FALSE(Settled("  barrier_block %zero, %c32\n" + load));
  CHECK_FALSE(Settled("  %v = load i32 shared volatile %at\n" + load));
  CHECK_FALSE(Settled("  %x = load i32 shared volatile %at\n"));
  CHECK_FALSE(Settled("  %x = load i32 global relaxed gpu %data\n"));
}

TEST_CASE("what a thread learns in a trip of a loop holds for the next trip's loads", "[analysis]") {
  const auto loop = [](const std::string& first, const std::string& last) {
    return "  br ^l\n^l:\n" + first + "  %x = load i32 shared %at\n" + last +
           "  %p = icmp i32 eq %x, %zero\n  cond_br %p, ^l, ^out\n^out:\n";
  };
  const std::string barrier = "  barrier_block %zero {aligned}\n",
                    add = "  %o = atomic i32 shared relaxed cta add %at, %zero\n";
  CHECK(Settled(loop(barrier, "")));
  CHECK(Settled(loop(barrier, add)));
  CHECK(Settled(loop("", add + barrier)));
  CHECK_FALSE(Settled(loop("", add)));
  CHECK_FALSE(Settled(loop(barrier + add, "")));
}
