// Values that are never NaN: body by body.
#include "analysis/lanes/numbers.h"

#include <catch2/catch.hpp>

#include "ir/text/text.h"

using namespace ptx2cpu;

namespace {

// Whether `%r`, which the body stores last, is never NaN.
bool IsNumber(const std::string& body) {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %tid = special i32 tid.x
  %zero = const i32 0x0
  %full = const i32 0xffffffff
  %odd = icmp i32 ne %tid, %zero
  %least = const f32 0xff800000
  %nan = const f32 0x7fffffff
  %x = load f32 global %data
  %y = load f32 global %data
)" + body + "  store f32 global %data, %r\n  ret\n}\n";
  auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  const ir::Function& f = module->functions[0];
  const std::vector<bool> numbers = analysis::FindNumbers(f);
  if (numbers.empty()) return false;
  for (const ir::Inst& inst : f.insts) {
    if (inst.op == ir::Opcode::kStore) return numbers[inst.operands[1].index];
  }
  FAIL("no store");
  return false;
}

// A loop that carries %m from `start` and ends with `next`.
std::string Loop(const std::string& start, const std::string& next) {
  return "  br ^loop(" + start + ", %zero)\n^loop(%m: f32, %n: i32):\n" + next +
         "  %one = const i32 0x1\n  %n2 = add i32 %n, %one\n  %more = icmp i32 ult %n2, %tid\n"
         "  cond_br %more, ^loop(%m2, %n2), ^after(%m2)\n^after(%r: f32):\n";
}

}  // namespace

TEST_CASE("one operand that is a number makes an extreme one", "[numbers]") {
  CHECK(IsNumber("  %r = fmax f32 %x, %least\n"));
  CHECK(IsNumber("  %r = fmin f32 %least, %x\n"));
  CHECK_FALSE(IsNumber("  %r = fmax f32 %x, %y\n"));
  CHECK_FALSE(IsNumber("  %r = fmax f32 %x, %nan\n"));
  CHECK_FALSE(IsNumber("  %r = fmax f32 %x, %least {nan}\n"));
  CHECK_FALSE(IsNumber("  %s = fmax f32 %x, %least\n  %r = fadd f32 rn %s, %s\n"));  // infinities
  CHECK(IsNumber("  %s = fmax f32 %x, %least\n  %t = fneg f32 %s\n  %r = select f32 %odd, %s, %t\n"));
  CHECK_FALSE(IsNumber("  %s = fmax f32 %x, %least\n  %r = select f32 %odd, %s, %y\n"));
}

TEST_CASE("loops and shuffles of bits carry numbers", "[numbers]") {
  CHECK(IsNumber(Loop("%least", "  %m2 = fmax f32 %m, %x\n")));
  CHECK_FALSE(IsNumber(Loop("%nan", "  %m2 = fmax f32 %m, %x\n")));
  CHECK_FALSE(IsNumber(Loop("%least", "  %m1 = fmax f32 %m, %x\n  %m2 = fmul f32 rn %m1, %y\n")));
  const std::string shuffled =
      "  %c = const i32 0x1f\n  %o = const i32 0x1\n  %bits = bitcast i32 from f32 %s\n"
      "  br ^all\n^all:\n  %moved, %in = shuffle i32 down %bits, %o, %c, %full\n  br ^on\n^on:\n"
      "  %r = bitcast f32 from i32 %moved\n";
  CHECK(IsNumber("  %s = fmax f32 %x, %least\n" + shuffled));
  CHECK_FALSE(IsNumber("  %t = fmax f32 %x, %least\n  %s = fadd f32 rn %t, %y\n" + shuffled));
}
