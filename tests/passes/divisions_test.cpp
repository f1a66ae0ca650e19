// restore-divisions: multiplications that divide by a constant become divisions, and no others do.
// cancel-quotients: sums of a quotient and its remainder do without both, and no others do.
#include <algorithm>

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

namespace {

// A product of 64 bits, of which nvcc takes the upper part; of one of 33 bits the highest is a sum.
std::string Wide(uint32_t multiplier, uint32_t shift) {
  return "  %w = zext i64 from i32 %x\n  %m = const i64 " + std::to_string(multiplier) +
         "\n  %p = mul i64 %w, %m\n  %by = const i32 " + std::to_string(shift) +
         "\n  %u = shr_u i64 %p, %by\n  %q = trunc i32 from i64 %u\n";
}
std::string WithLongMultiplier(uint32_t multiplier, uint32_t shift) {
  std::string text = Wide(multiplier, 32);
  text.replace(text.find("%q"), 2, "%h");
  return text + "  %n1 = const i32 0x1\n  %d = sub i32 %x, %h\n  %e = shr_u i32 %d, %n1\n" +
         "  %f = add i32 %e, %h\n  %to = const i32 " + std::to_string(shift) + "\n  %q = shr_u i32 %f, %to\n";
}

}  // namespace

TEST_CASE("products of 64 bits that divide 32 bits by a constant are divisions", "[passes][divisions]") {
  CHECK(Restored(Wide(0x80808081, 39)) == 1);               // by 255
  CHECK(Restored(Wide(0xcccccccd, 35)) == 1);               // by 10
  CHECK(Restored(WithLongMultiplier(0x24924925, 2)) == 1);  // by 7
  CHECK(Restored(Wide(0x80808080, 39)) == 0);
  CHECK(Restored(Wide(0x80808081, 31)) == 0);
  CHECK(Restored(WithLongMultiplier(0x24924924, 2)) == 0);
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

namespace {

// How many sums of the kernel the pass changes; their values stay.
uint32_t Cancelled(const std::string& sum) {
  const ir::Module module = Kernel("  %c20 = const i32 0x14\n  %c80 = const i32 0x50\n" + sum);
  const ir::Module before = AfterInShape(module, "restore-divisions"),
                   after = AfterInShape(module, "cancel-quotients");
  CheckSameMemory(module, after);
  const auto sums_of = [](const ir::Module& m) {
    std::vector<std::vector<uint32_t>> sums;
    for (const ir::Inst& inst : m.functions.back().insts) {
      if (!inst.block.valid() || (inst.op != ir::Opcode::kAdd && inst.op != ir::Opcode::kSub)) continue;
      sums.emplace_back();
      for (const ir::ValueId operand : inst.operands) sums.back().push_back(operand.index);
    }
    return sums;
  };
  const auto old_sums = sums_of(before), new_sums = sums_of(after);
  return static_cast<uint32_t>(std::ranges::count_if(
      old_sums, [&](const auto& sum) { return std::ranges::find(new_sums, sum) == new_sums.end(); }));
}

}  // namespace

TEST_CASE("sums in which a quotient cancels out do without it", "[passes][divisions]") {
  const std::string signed_parts =
                        "  %d = div_s i32 %x, %c20\n  %m = mul i32 %d, %c20\n  %r = sub i32 %x, %m\n",
                    unsigned_parts = "  %d = div_u i32 %x, %c20\n  %r = rem_u i32 %x, %c20\n",
                    row = "  %a = mul i32 %d, %c80\n", column = "  %b = shl i32 %r, %two\n";
  CHECK(Cancelled(signed_parts + row + column + "  %q = add i32 %a, %b\n") == 1);
  CHECK(Cancelled(unsigned_parts + row + column + "  %q = add i32 %a, %b\n") == 1);
  // With a base in between, in the other order, and with a constant.
  CHECK(Cancelled(unsigned_parts + row + column + "  %e = add i32 %a, %c1f\n  %q = add i32 %b, %e\n") == 1);
  CHECK(Cancelled(signed_parts + row + column + "  %e = sub i32 %b, %two\n  %q = add i32 %e, %a\n") == 1);
  // A divisor that is known when the kernel runs only: the same product twice.
  CHECK(Cancelled("  %w = or i32 %x, %c20\n  %d = div_u i32 %c80, %w\n  %m = mul i32 %d, %w\n"
                  "  %r = sub i32 %x, %m\n  %p = mul i32 %w, %d\n  %q = add i32 %p, %r\n"
                  "  %unused = rem_s i32 %x, %c20\n") == 1);
}

TEST_CASE("other sums of quotients stay", "[passes][divisions]") {
  const std::string parts = "  %d = div_s i32 %x, %c20\n  %r = rem_s i32 %x, %c20\n";
  CHECK(Cancelled(parts + "  %a = mul i32 %d, %c80\n  %q = add i32 %a, %r\n") == 0);
  CHECK(Cancelled(parts + "  %a = mul i32 %d, %c20\n  %b = shl i32 %r, %two\n  %q = add i32 %a, %b\n") == 0);
  // Quotients of another kind, of another number, and by a number that is 0 or negative.
  CHECK(Cancelled("  %d = div_u i32 %x, %c20\n  %r = rem_s i32 %x, %c20\n  %a = mul i32 %d, %c20\n"
                  "  %q = add i32 %a, %r\n") == 0);
  CHECK(Cancelled("  %y = add i32 %x, %two\n  %d = div_u i32 %y, %c20\n  %r = rem_u i32 %x, %c20\n"
                  "  %a = mul i32 %d, %c20\n  %q = add i32 %a, %r\n") == 0);
  for (const char* divisor : {"0x0", "0xffffffec"}) {
    CHECK(Cancelled("  %z = const i32 " + std::string(divisor) +
                    "\n  %d = div_s i32 %x, %z\n  %r = rem_s i32 %x, %z\n  %a = mul i32 %d, %z\n"
                    "  %q = add i32 %a, %r\n  %unused = rem_s i32 %x, %c20\n") == 0);
  }
}
