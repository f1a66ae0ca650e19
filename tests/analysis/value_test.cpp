// Analyses of values: uniformity, liveness, address spaces.
#include "analysis/values/address_space.h"
#include "analysis/values/liveness.h"
#include "analysis/values/uniformity.h"
#include "tests/analysis/graphs.h"

using namespace ptx2cpu;
using namespace ptx2cpu::analysis;

namespace {

// The shape of the value that is stored by the function's n-th store.
ThreadShape Stored(const ir::Function& f, size_t n, std::optional<LaunchShape> launch = {}) {
  UniformityResult result = AnalyzeUniformity(f, launch);
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) {
      if (f.at_inst(id).op == ir::Opcode::kStore && n-- == 0)
        return result.values[f.at_inst(id).operands[1].index];
    }
  }
  FAIL("no such store");
  return {};
}

Uniformity Kind(const std::string& body, std::optional<LaunchShape> launch = {}) {
  ir::Module m =
      test::ParseText("kernel @k (p: i64 @0, n: i32 @8) phase simt {\n^b0:\n  %base = param_base\n" + body +
                      "  store i32 global %base, %x\n  ret\n}\n");
  return Stored(m.functions[0], 0, launch).kind;
}

const std::string kTid = "  %t = special i32 tid.x\n";
constexpr LaunchShape kLine{0, 1, 1};

}  // namespace

TEST_CASE("uniformity of straight code", "[analysis]") {
  CHECK(Kind("  %x = load i32 param %base\n") == Uniformity::kGrid);
  CHECK(Kind("  %x = special i32 ctaid.y\n") == Uniformity::kBlock);
  CHECK(Kind("  %x = load i32 global %base\n") == Uniformity::kBlock);  // settled_loads
  CHECK(Kind("  %x = load i32 global volatile %base\n") == Uniformity::kVarying);
  CHECK(Kind("  %x = load i32 global %base {nc}\n") == Uniformity::kGrid);
  CHECK(Kind("  %x = special i32 tid.x\n") == Uniformity::kVarying);
  CHECK(Kind("  %x = special i32 tid.x\n", kLine) == Uniformity::kAffine);
  CHECK(Kind("  %x = special i32 laneid\n") == Uniformity::kAffine);
  CHECK(Kind("  %x = special i32 warpid\n") == Uniformity::kWarp);
  CHECK(Kind("  %x = special i32 tid.y\n", LaunchShape{64, 4, 1}) == Uniformity::kWarp);
  CHECK(Kind("  %x = special i32 tid.y\n", LaunchShape{16, 4, 1}) == Uniformity::kVarying);
}

TEST_CASE("only .reqntid determines the shape of a block", "[analysis]") {
  ir::Module m = test::ParseText(R"(kernel @k (p: i64 @0) phase simt max_threads 256 1 1 {
^b0:
  %base = param_base
  %x = special i32 tid.x
  store i32 global %base, %x
  ret
}
)");
  CHECK(Stored(m.functions[0], 0).kind == Uniformity::kVarying);
  m.functions[0].required_threads[0] = 256;
  CHECK(Stored(m.functions[0], 0).kind == Uniformity::kAffine);
}

TEST_CASE("affine values keep stride and alignment of the base", "[analysis]") {
  std::string five = "  %c = const i32 0x5\n", mask = "  %c = const i32 0x1f\n",
              high = "  %c = const i32 0xffffffe0\n";
  CHECK(Kind(kTid + five + "  %x = shr_u i32 %t, %c\n", kLine) == Uniformity::kWarp);
  CHECK(Kind(kTid + five + "  %x = shr_u i32 %t, %c\n") == Uniformity::kVarying);
  CHECK(Kind(kTid + mask + "  %x = and i32 %t, %c\n", kLine) == Uniformity::kAffine);
  CHECK(Kind(kTid + high + "  %x = and i32 %t, %c\n", kLine) == Uniformity::kWarp);
  // An unaligned base breaks both rules.
  std::string shifted = kTid + "  %one = const i32 0x1\n  %t1 = add i32 %t, %one\n";
  CHECK(Kind(shifted + five + "  %x = shr_u i32 %t1, %c\n", kLine) == Uniformity::kVarying);
  CHECK(Kind(shifted + "  %x = sub i32 %t1, %t\n", kLine) == Uniformity::kGrid);
  ir::Module m = test::ParseText(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %l = special i32 laneid
  %c = const i32 0x3
  %m = shl i32 %l, %c
  %n = add i32 %m, %c
  store i32 global %base, %n
  ret
}
)");
  ThreadShape shape = Stored(m.functions[0], 0);
  CHECK(shape.kind == Uniformity::kAffine);
  CHECK(shape.stride == 8);
}

TEST_CASE("control flow makes values differ", "[analysis]") {
  const char* kText = R"(kernel @k (p: i64 @0, n: i32 @8) phase simt {
^b0:
  %base = param_base
  %n = load i32 param %base
  %t = special i32 tid.x
  %zero = const i32 0x0
  %one = const i32 0x1
  %u = icmp i32 eq %n, %zero
  %d = icmp i32 eq %t, %zero
  cond_br %CONDITION, ^a, ^join(%zero)
^a:
  br ^join(%one)
^join(%x: i32):
  store i32 global %base, %x
  br ^loop(%zero)
^loop(%i: i32):
  %i2 = add i32 %i, %one
  store i32 global %base, %i2
  %LIMIT
  cond_br %more, ^loop(%i2), ^out
^out:
  store i32 global %base, %i2
  ret
}
)";
  auto make = [&](const std::string& condition, const std::string& limit) {
    std::string text = kText;
    text.replace(text.find("CONDITION"), 9, condition);
    text.replace(text.find("%LIMIT"), 6, "%more = icmp i32 ult %i2, " + limit);
    return test::ParseText(text);
  };
  ir::Module uniform = make("u", "%n"), divergent = make("d", "%t");
  CHECK(Stored(uniform.functions[0], 0).kind == Uniformity::kGrid);
  CHECK(Stored(uniform.functions[0], 1).kind == Uniformity::kGrid);
  CHECK(Stored(uniform.functions[0], 2).kind == Uniformity::kGrid);
  CHECK(Stored(divergent.functions[0], 0).kind == Uniformity::kVarying);
  CHECK(Stored(divergent.functions[0], 2).kind == Uniformity::kVarying);  // lanes leave at different trips
}

TEST_CASE("early exits make nothing differ for those that stay", "[analysis]") {
  ir::Module m = test::ParseText(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %t = special i32 tid.x
  %zero = const i32 0x0
  %d = icmp i32 eq %t, %zero
  cond_br %d, ^end, ^stay(%zero)
^stay(%x: i32):
  store i32 global %base, %x
  br ^end
^end:
  ret
}
)");
  CHECK(Stored(m.functions[0], 0).kind == Uniformity::kGrid);
}

TEST_CASE("a uniform exit that only some threads test in a trip", "[analysis]") {
  ir::Module m = test::ParseText(R"(kernel @k (p: i64 @0, n: i32 @8) phase simt {
^b0:
  %base = param_base
  %n = load i32 param %base
  %t = special i32 tid.x
  %zero = const i32 0x0
  %one = const i32 0x1
  br ^loop(%zero)
^loop(%i: i32):
  store i32 global %base, %i
  %mixed = and i32 %i, %t
  %d = icmp i32 eq %mixed, %zero
  cond_br %d, ^test, ^next
^test:
  %done = icmp i32 eq %i, %n
  cond_br %done, ^out, ^next
^next:
  %i2 = add i32 %i, %one
  br ^loop(%i2)
^out:
  %x = add i32 %i, %one
  store i32 global %base, %x
  ret
}
)");
  CHECK(Stored(m.functions[0], 1).kind == Uniformity::kVarying);  // threads leave in different trips
}

// The counter of the inner loop begins anew when all threads have left it.
TEST_CASE("what threads of one trip hold is the same within a loop around which is another one",
          "[analysis]") {
  const ir::Module m = test::ParseText(R"(kernel @k (p: i64 @0, n: i32 @8) phase simt {
^b0:
  %base = param_base
  %t = special i32 tid.x
  %zero = const i32 0x0
  %one = const i32 0x1
  %ten = const i32 0xa
  br ^outer(%zero)
^outer(%i: i32):
  br ^inner(%zero)
^inner(%j: i32):
  store i32 global %base, %j
  %j1 = add i32 %j, %one
  %again = icmp ult i32 %j1, %t
  cond_br %again, ^inner(%j1), ^next
^next:
  store i32 global %base, %i
  %i1 = add i32 %i, %one
  %more = icmp ult i32 %i1, %ten
  cond_br %more, ^outer(%i1), ^end
^end:
  ret
}
)");
  CHECK(Stored(m.functions[0], 0).kind == Uniformity::kGrid);
  CHECK(Stored(m.functions[0], 1).kind == Uniformity::kGrid);
}

TEST_CASE("which exit of a loop threads take differs when they leave it in different trips", "[analysis]") {
  ir::Module m = test::ParseText(R"(kernel @k (p: i64 @0, n: i32 @8) phase simt {
^b0:
  %base = param_base
  %n = load i32 param %base
  %t = special i32 tid.x
  %zero = const i32 0x0
  %one = const i32 0x1
  br ^loop(%zero)
^loop(%i: i32):
  %mixed = and i32 %i, %t
  %d = icmp i32 eq %mixed, %zero
  cond_br %d, ^test, ^next
^test:
  %done = icmp i32 eq %i, %n
  cond_br %done, ^early, ^next
^next:
  %i2 = add i32 %i, %one
  %more = icmp i32 ult %i2, %n
  cond_br %more, ^loop(%i2), ^late
^early:
  br ^out(%zero)
^late:
  br ^out(%one)
^out(%x: i32):
  store i32 global %base, %x
  ret
}
)");
  CHECK(Stored(m.functions[0], 0).kind == Uniformity::kVarying);
}

TEST_CASE("liveness", "[analysis]") {
  ir::Module m = test::ParseText(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %t = special i32 tid.x
  %zero = const i32 0x0
  br ^loop(%zero)
^loop(%i: i32):
  %i2 = add i32 %i, %t
  %more = icmp i32 ult %i2, %t
  cond_br %more, ^loop(%i2), ^out
^out:
  store i32 global %base, %i2
  ret
}
)");
  const ir::Function& f = m.functions[0];
  LivenessResult live = AnalyzeLiveness(f);
  const auto& first = f.at_block({0}).insts;
  ir::ValueId base = f.at_inst(first[0]).results[0], zero = f.at_inst(first[2]).results[0];
  ir::ValueId i = f.at_block({1}).params[0], i2 = f.at_inst(f.at_block({1}).insts[0]).results[0];
  CHECK(live.in[1].Contains(base));
  CHECK(live.out[1].Contains(base));
  CHECK_FALSE(live.in[1].Contains(i));
  CHECK_FALSE(live.out[0].Contains(zero));  // only an argument of the edge
  CHECK(live.in[2].Contains(i2));
  CHECK(live.in[2].Values().size() == 2);
  CHECK(live.in[0].Values().empty());
}

TEST_CASE("address spaces follow cvta, arithmetic and merges", "[analysis]") {
  ir::Module m = test::ParseText(R"(variable shared @s align 4 size 64 offset 0
kernel @k (p: i64 @0) phase simt local_bytes 8 {
  local @l size 8 align 8 offset 0
^b0:
  %base = param_base
  %s = symbol shared @s
  %g = to_generic shared %s
  %eight = const i64 0x8
  %g2 = add i64 %eight, %g
  %l = symbol local @l
  %lg = to_generic local %l
  %t = special i32 tid.x
  %v = load i32 generic %lg
  store i32 generic %g2, %v
  %p = icmp i32 eq %t, %v
  cond_br %p, ^a, ^b(%g2, %g2)
^a:
  br ^b(%g, %base)
^b(%same: i64, %mixed: i64):
  store i32 generic %same, %t
  ret
}
)");
  const ir::Function& f = m.functions[0];
  AddressSpaceResult result = AnalyzeAddressSpaces(f);
  auto of = [&](size_t n) { return result.spaces[f.at_inst(f.at_block({0}).insts[n]).results[0].index]; };
  CHECK(of(0) == ir::Space::kParam);
  CHECK(of(1) == ir::Space::kGeneric);  // an offset
  CHECK(of(2) == ir::Space::kShared);
  CHECK(of(4) == ir::Space::kShared);
  CHECK(of(6) == ir::Space::kLocal);
  CHECK(of(8) == ir::Space::kGeneric);
  CHECK(result.spaces[f.at_block({2}).params[0].index] == ir::Space::kShared);
  CHECK(result.spaces[f.at_block({2}).params[1].index] == ir::Space::kGeneric);
  CHECK_FALSE(result.local_escapes);
  ir::Module escaping = test::ParseText(R"(kernel @k (p: i64 @0) phase simt local_bytes 8 {
  local @l size 8 align 8 offset 0
^b0:
  %base = param_base
  %l = symbol local @l
  %lg = to_generic local %l
  store i64 global %base, %lg
  ret
}
)");
  CHECK(AnalyzeAddressSpaces(escaping.functions[0]).local_escapes);
}
