// Warp-level code that only simple lane code interrupts.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

ir::Module Joined(const ir::Module& module) { return AfterInShape(module, "join-warp-code"); }

uint32_t Count(const ir::Module& module, ir::Opcode op) {
  return CountInstructions(module.functions.back(), [&](const ir::Inst& inst) { return inst.op == op; });
}

// Blocks that hold a collective.
uint32_t CountGroups(const ir::Module& module) {
  const ir::Function& f = module.functions.back();
  return static_cast<uint32_t>(std::ranges::count_if(f.blocks, [&](const ir::Block& block) {
    return std::ranges::any_of(block.insts,
                               [&](ir::InstId id) { return ir::IsCollective(f.at_inst(id).op); });
  }));
}

const std::string kTwoSums =
    "  %o1, %k1 = shuffle i32 bfly %v, %one, %three, %full ; ptx 1\n"
    "  %a1 = add i32 %v, %o1\n"
    "  %o2, %k2 = shuffle i32 bfly %a1, %two, %three, %full ; ptx 2\n"
    "  %a2 = add i32 %a1, %o2\n"
    "  %o3, %k3 = shuffle i32 bfly %a2, %one, %three, %full ; ptx 3\n"
    "  %a3 = add i32 %a2, %o3\n";

}  // namespace

TEST_CASE("sums between shuffles need neither loops over lanes nor slots", "[passes][joined]") {
  const ir::Module module = BarrierModule(kTwoSums + "  store i32 global %mine, %a3\n  ret\n");
  const ir::Module before = AfterInShape(module, "sequence-divergent-arms"), after = Joined(module);
  CHECK(CountGroups(before) == 3);
  CHECK(CountGroups(after) == 1);
  CHECK(Count(after, ir::Opcode::kForLanes) == 2);  // the load before, and the store after
  CHECK(Count(after, ir::Opcode::kSlotStore) < Count(before, ir::Opcode::kSlotStore));
  CHECK(after.functions.back().slots.size() < before.functions.back().slots.size());
  CheckSameMemory(module, after);
}

TEST_CASE("lane code with effects stays a loop between collectives", "[passes][joined]") {
  const ir::Module module = BarrierModule(
      "  %o1, %k1 = shuffle i32 bfly %v, %one, %three, %full ; ptx 1\n  store i32 shared %slot, %o1\n"
      "  %w = load i32 shared %slot {volatile}\n  %a1 = add i32 %v, %w\n"
      "  %o2, %k2 = shuffle i32 bfly %a1, %two, %three, %full ; ptx 2\n"
      "  store i32 global %mine, %o2\n  ret\n");
  const ir::Module after = Joined(module);
  CHECK(CountGroups(after) == 2);
  CHECK(Count(after, ir::Opcode::kForLanes) == 3);
  CheckSameMemory(module, after);
}

TEST_CASE("a slot that lane code changes is loaded again", "[passes][joined]") {
  // The loop's variable is changed by lane code with effects in each trip.
  const ir::Module module = BarrierModule(
      "  br ^loop(%v, %zero)\n^loop(%x: i32, %i: i32):\n"
      "  %o1, %k1 = shuffle i32 bfly %x, %one, %three, %full ; ptx 1\n"
      "  %a1 = add i32 %x, %o1\n"
      "  %o2, %k2 = shuffle i32 bfly %a1, %two, %three, %full ; ptx 2\n"
      "  store i32 shared %slot, %o2\n  %w = load i32 shared %slot {volatile}\n"
      "  %y = add i32 %w, %a1\n  %j = add i32 %i, %one\n  %more = icmp i32 ult %j, %three\n"
      "  cond_br %more, ^loop(%y, %j), ^done ; ptx 3\n^done:\n"
      "  %r = add i32 %y, %o1\n  store i32 global %mine, %r\n  ret\n");
  const ir::Module after = Joined(module);
  CHECK(CountGroups(after) == 1);
  CheckSameMemory(module, after);
}

TEST_CASE("kernels without collectives keep their loops over lanes", "[passes][joined]") {
  const ir::Module module = BarrierModule(
      "  store i32 shared %slot, %v\n  barrier_block %zero {aligned}\n"
      "  %w = load i32 shared %next\n  store i32 global %mine, %w\n  ret\n");
  CHECK(ir::Print(Joined(module)) == ir::Print(AfterInShape(module, "sequence-divergent-arms")));
}
