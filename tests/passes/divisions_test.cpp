// restore-divisions: multiplications that divide by a constant become divisions, and no others do.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// %q of %x, which is a word of memory that takes all kinds of values.
ir::Module Kernel(const std::string& quotient) {
  return BarrierModule(R"(  %x = load i32 global %mine
  %c1f = const i32 0x1f
)" + quotient + "  store i32 global %mine, %q\n  ret\n");
}

std::string Signed(uint32_t multiplier, uint32_t shift, bool adds) {
  std::string text = "  %m = const i32 " + std::to_string(multiplier) + "\n  %by = const i32 " +
                     std::to_string(shift) + "\n  %u = mulhi_s i32 %x, %m\n";
  text += adds ? "  %h = add i32 %u, %x\n" : "  %none = const i32 0x0\n  %h = add i32 %u, %none\n";
  return text + "  %s = shr_u i32 %h, %c1f\n  %t = shr_s i32 %h, %by\n  %q = add i32 %t, %s\n";
}

uint32_t Divisions(const ir::Module& module) {
  return CountInstructions(module.functions.back(), [](const ir::Inst& inst) {
    return inst.op == ir::Opcode::kDivS || inst.op == ir::Opcode::kDivU;
  });
}

uint32_t Restored(const std::string& quotient) {
  const ir::Module module = Kernel(quotient), after = AfterInShape(module, "restore-divisions");
  CheckSameMemory(module, after);
  return Divisions(after) - Divisions(module);
}

}  // namespace

TEST_CASE("products that divide by a constant are divisions", "[passes][divisions]") {
  const std::string by_20 =
      "  %m = const i32 0x66666667\n  %by = const i32 0x3\n  %h = mulhi_s i32 %x, %m\n"
      "  %s = shr_u i32 %h, %c1f\n  %t = shr_s i32 %h, %by\n  %q = add i32 %t, %s\n";
  CHECK(Restored(by_20) == 1);
  CHECK(Restored(Signed(0xea0ea0eb, 6, true)) == 1);  // by 70
  CHECK(Restored("  %m = const i32 0xcccccccd\n  %by = const i32 0x4\n  %h = mulhi_u i32 %x, %m\n"
                 "  %q = shr_u i32 %h, %by\n") == 1);  // by 20
  CHECK(Restored("  %y = shr_u i32 %x, %two\n  %m = const i32 0x38e38e39\n"
                 "  %by = const i32 0x1\n  %h = mulhi_u i32 %y, %m\n  %q = shr_u i32 %h, %by\n") ==
        1);  // by 36
}

TEST_CASE("other products stay", "[passes][divisions]") {
  // One less or more than the multiplier is wrong for some number, and 70's needs its factor added.
  CHECK(Restored("  %m = const i32 0xcccccccc\n  %by = const i32 0x4\n  %h = mulhi_u i32 %x, %m\n"
                 "  %q = shr_u i32 %h, %by\n") == 0);
  CHECK(Restored("  %m = const i32 0xccccccd2\n  %by = const i32 0x4\n  %h = mulhi_u i32 %x, %m\n"
                 "  %q = shr_u i32 %h, %by\n") == 0);
  CHECK(Restored(Signed(0xea0ea0eb, 6, false)) == 0);
  CHECK(Restored("  %m = const i32 0x12345\n  %q = mulhi_u i32 %x, %m\n") == 0);
}
