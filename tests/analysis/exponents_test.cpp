// What is never subnormal: body by body.
#include "analysis/lanes/exponents.h"

#include <catch2/catch.hpp>

#include "ir/text/text.h"

using namespace ptx2cpu;
using analysis::kAnyExponent;
using analysis::kLeastNormal;
using analysis::kNoExponent;

namespace {

// Of `%r`, which the body stores last.
int Least(const std::string& body) {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %tid = special i32 tid.x
  %zero = const i32 0x0
  %full = const i32 0xffffffff
  %odd = icmp i32 ne %tid, %zero
  %none = const f32 0x0
  %one = const f32 0x3f800000
  %eighth = const f32 0x3e000000
  %tiny = const f32 0x00000001
  %h = load f16 global %data
  %half = fconvert f32 from f16 %h
  %x = load f32 global %data
  %y = load f32 global %data
  %flushed = fadd f32 rn %x, %y {ftz}
)" + body + "  store f32 global %data, %r\n  ret\n}\n";
  auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  const ir::Function& f = module->functions[0];
  const auto exponents = analysis::FindLeastExponents(f);
  REQUIRE(!exponents.empty());
  for (const ir::Inst& inst : f.insts) {
    if (inst.op == ir::Opcode::kStore) return exponents[inst.operands[1].index];
  }
  FAIL("no store");
  return 0;
}

// A loop that carries %m from `start` and ends with `next`.
std::string Loop(const std::string& start, const std::string& next) {
  return "  br ^loop(" + start + ", %zero)\n^loop(%m: f32, %n: i32):\n" + next +
         "  %step = const i32 0x1\n  %n2 = add i32 %n, %step\n  %more = icmp i32 ult %n2, %tid\n"
         "  cond_br %more, ^loop(%m2, %n2), ^after(%m2)\n^after(%r: f32):\n";
}

}  // namespace

TEST_CASE("the least exponent follows from operations", "[exponents]") {
  CHECK(Least("  %r = fadd f32 rn %x, %one\n") == kAnyExponent);
  CHECK(Least("  %r = fadd f32 rn %x, %one {ftz}\n") == kLeastNormal);
  CHECK(Least("  %r = fneg f32 %half\n") == -24);
  CHECK(Least("  %r = fneg f32 %x {ftz}\n") == kLeastNormal);
  CHECK(Least("  %r = s_to_f f32 from i32 rn %tid\n") == 0);
  CHECK(Least("  %r = fmul f32 rn %half, %half\n") == -48);
  CHECK(Least("  %r = fmul f32 rn %half, %eighth {ftz}\n") == -27);
  CHECK(Least("  %r = fmul f32 rn %half, %none\n") == kNoExponent);
  CHECK(Least("  %r = fmul f32 rn %half, %tiny\n") == kAnyExponent);
  CHECK(Least("  %r = fmul f32 rn %half, %tiny {ftz}\n") == kLeastNormal);
  CHECK(Least("  %r = fmul f32 rn %flushed, %half\n") == kAnyExponent);
  CHECK(Least("  %r = fmax f32 %half, %flushed\n") == kLeastNormal);
  CHECK(Least("  %r = fmax f32 %half, %x\n") == kAnyExponent);
  CHECK(Least("  %r = select f32 %odd, %one, %tiny\n") == kAnyExponent);
  CHECK(Least("  %r = select f32 %odd, %one, %eighth\n") == -3);
  CHECK(Least("  %big = const f32 0x43000000\n  %r = fmul f32 rn %big, %one {sat}\n") == 0);
  CHECK(Least("  %r = fcopysign f32 %half, %half\n") == kAnyExponent);
}

TEST_CASE("loops, slots' values and shuffles of bits carry exponents", "[exponents]") {
  CHECK(Least(Loop("%none", "  %m2 = ffma f32 rn %half, %half, %m {ftz}\n")) == kLeastNormal);
  CHECK(Least(Loop("%none", "  %m2 = ffma f32 rn %half, %half, %m\n")) == kAnyExponent);
  CHECK(Least(Loop("%one", "  %m2 = fneg f32 %m\n")) == 0);
  CHECK(Least(Loop("%tiny", "  %m2 = fneg f32 %m\n")) == kAnyExponent);
  // By a step at a time it would fall for a hundred rounds.
  CHECK(Least(Loop("%one", "  %m2 = fmul f32 rn %m, %eighth {ftz}\n")) == kLeastNormal);
  CHECK(Least(Loop("%one", "  %m2 = fmul f32 rn %m, %eighth\n")) == kAnyExponent);
  const std::string shuffled =
      "  %c = const i32 0x1f\n  %o = const i32 0x1\n  %bits = bitcast i32 from f32 %s\n"
      "  br ^all\n^all:\n  %moved, %in = shuffle i32 down %bits, %o, %c, %full\n  br ^on\n^on:\n"
      "  %r = bitcast f32 from i32 %moved\n";
  CHECK(Least("  %s = fadd f32 rn %x, %y {ftz}\n" + shuffled) == kLeastNormal);
  CHECK(Least("  %s = fadd f32 rn %x, %y\n" + shuffled) == kAnyExponent);
}
