// Bounds of integers: those of one value of a body, and comparisons that they decide.
#include "analysis/values/value_ranges.h"

#include <catch2/catch.hpp>

#include "ir/text/text.h"

using namespace ptx2cpu;
using analysis::ValueRange;

namespace {

using MaybeRange = std::optional<ValueRange>;

// The range of the `%x` of a body, in blocks of 96 x 2 threads.
MaybeRange RangeOf(const std::string& body, const char* type = "i32") {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0, n: i32 @8) phase simt required_threads 96 2 1 {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %tid = special i32 tid.x
  %row = special i32 tid.y
  %plane = special i32 tid.z
  %lane = special i32 laneid
  %c0 = const i32 0x0
  %c1 = const i32 0x1
  %c3 = const i32 0x3
  %c5 = const i32 0x5
  %c7 = const i32 0x7
  %c100 = const i32 0x64
  %ones = const i32 0xffffffff
)" + body + "  store " + type +
                           " global %data, %x\n  ret\n}\n";
  auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  const ir::Function& f = module->functions[0];
  const auto ranges = analysis::FindValueRanges(f, analysis::PromisedShape(f));
  for (const ir::Inst& inst : f.insts) {
    if (inst.op == ir::Opcode::kStore) return ranges[inst.operands[1].index];
  }
  FAIL("no store");
  return std::nullopt;
}

MaybeRange From(uint64_t low, uint64_t high) { return ValueRange{low, high}; }

}  // namespace

TEST_CASE("bounds come from the block's shape and constants", "[analysis]") {
  CHECK(RangeOf("  %x = add i32 %tid, %c0\n") == From(0, 95));
  CHECK(RangeOf("  %x = add i32 %row, %c1\n") == From(1, 2));
  CHECK(RangeOf("  %x = add i32 %plane, %c3\n") == From(3, 3));
  CHECK(RangeOf("  %x = sub i32 %c100, %tid\n") == From(5, 100));
  CHECK(RangeOf("  %x = mul i32 %lane, %tid\n") == From(0, 31 * 95));
  CHECK(RangeOf("  %x = shr_u i32 %tid, %c5\n") == From(0, 2));
  CHECK(RangeOf("  %x = shl i32 %tid, %c3\n") == From(0, 95 * 8));
  // Quotients of signed numbers: what a negative one would add is zero.
  CHECK(RangeOf("  %c31 = const i32 0x1f\n  %x = shr_s i32 %tid, %c31\n") == From(0, 0));
  CHECK(RangeOf("  %x = shr_s i32 %c100, %lane\n") == From(0, 100));
  CHECK(RangeOf("  %x = shr_s i32 %ones, %c3\n") == std::nullopt);
  CHECK(RangeOf("  %x = shr_s i32 %tid, %c100\n") == std::nullopt);
  CHECK(RangeOf("  %x = div_u i32 %tid, %c7\n") == From(0, 13));
  CHECK(RangeOf("  %x = rem_u i32 %n, %c7\n") == From(0, 6));
  CHECK(RangeOf("  %x = rem_u i32 %row, %c7\n") == From(0, 1));
  CHECK(RangeOf("  %x = and i32 %n, %c7\n") == From(0, 7));
  CHECK(RangeOf("  %x = and i32 %c5, %c3\n") == From(1, 1));
  CHECK(RangeOf("  %x = or i32 %tid, %c100\n") == From(100, 127));
  CHECK(RangeOf("  %x = xor i32 %tid, %c3\n") == From(0, 127));
  CHECK(RangeOf("  %x = min_u i32 %tid, %c7\n") == From(0, 7));
  CHECK(RangeOf("  %x = max_u i32 %tid, %c7\n") == From(7, 95));
  CHECK(RangeOf("  %x = min_s i32 %tid, %c7\n") == From(0, 7));
  CHECK(RangeOf("  %x = max_s i32 %tid, %c7\n") == From(7, 95));
  CHECK(RangeOf("  %x = div_s i32 %tid, %c7\n") == From(0, 13));
  CHECK(RangeOf("  %x = rem_s i32 %tid, %c7\n") == From(0, 6));
  CHECK(RangeOf("  %y = add i32 %row, %c1\n  %x = and i32 %y, %c3\n") == From(1, 2));
  CHECK(RangeOf("  %x = zext i64 from i32 %tid\n", "i64") == From(0, 95));
  CHECK(RangeOf("  %w = zext i64 from i32 %tid\n  %x = trunc i32 from i64 %w\n") == From(0, 95));
  CHECK(RangeOf("  %p = icmp i32 eq %n, %c3\n  %x = select i32 %p, %c3, %row\n") == From(0, 3));
}

TEST_CASE("what wraps around or is not known has no bounds", "[analysis]") {
  CHECK(RangeOf("  %x = add i32 %n, %c1\n") == std::nullopt);
  for (const char* op : {"min_s", "max_s", "div_s", "rem_s"})  // -1
    CHECK(RangeOf(std::string("  %x = ") + op + " i32 %tid, %ones\n") == std::nullopt);
  CHECK(RangeOf("  %x = sub i32 %tid, %c1\n") == std::nullopt);
  CHECK(RangeOf("  %x = sub i32 %c7, %tid\n") == std::nullopt);
  CHECK(RangeOf("  %x = add i32 %tid, %ones\n") == std::nullopt);
  CHECK(RangeOf("  %x = mul i32 %tid, %ones\n") == std::nullopt);
  CHECK(RangeOf("  %x = shl i32 %ones, %c1\n") == std::nullopt);
  CHECK(RangeOf("  %x = shr_u i32 %n, %c1\n") == std::nullopt);
  CHECK(RangeOf("  %x = div_u i32 %c7, %tid\n") == std::nullopt);
  CHECK(RangeOf("  %x = rem_u i32 %n, %tid\n") == std::nullopt);
  CHECK(RangeOf("  %w = zext i64 from i32 %ones\n  %v = add i64 %w, %w\n  %x = trunc i32 from i64 %v\n") ==
        std::nullopt);
}

TEST_CASE("arms that meet have the bounds of both, loops none", "[analysis]") {
  CHECK(
      RangeOf("  %p = icmp i32 eq %n, %c3\n  cond_br %p, ^a, ^b(%row)\n^a:\n  br ^b(%c7)\n^b(%x: i32):\n") ==
      From(0, 7));
  CHECK(RangeOf("  br ^l(%c0)\n^l(%x: i32):\n  %y = add i32 %x, %c1\n  %p = icmp i32 ult %y, %n\n"
                "  cond_br %p, ^l(%y), ^end\n^end:\n") == std::nullopt);
}

TEST_CASE("ranges decide comparisons, signed ones of numbers without a sign", "[analysis]") {
  using ir::Compare;
  const ValueRange low{2, 5}, high{6, 9}, touching{5, 7}, five{5, 5}, top{0x80000000, 0xffffffff};
  struct Case {
    Compare compare;
    ValueRange a, b;
    std::optional<bool> decided;
  };
  const Case cases[] = {
      {Compare::kEq, low, high, false},      {Compare::kNe, low, high, true},
      {Compare::kEq, five, five, true},      {Compare::kNe, five, five, false},
      {Compare::kEq, low, touching, {}},     {Compare::kUlt, low, high, true},
      {Compare::kUge, low, high, false},     {Compare::kUgt, low, high, false},
      {Compare::kUle, low, high, true},      {Compare::kUle, low, touching, true},
      {Compare::kUgt, low, touching, false}, {Compare::kUlt, low, touching, {}},
      {Compare::kUge, touching, low, true},  {Compare::kUlt, touching, low, false},
      {Compare::kUge, low, touching, {}},    {Compare::kUgt, high, low, true},
      {Compare::kSlt, low, high, true},      {Compare::kSge, touching, low, true},
      {Compare::kSlt, low, top, {}},         {Compare::kSgt, top, low, {}},
      {Compare::kUlt, low, top, true},
  };
  for (const Case& one : cases) {
    INFO("case " << &one - cases);
    CHECK(analysis::Decided(one.compare, one.a, one.b, 32) == one.decided);
  }
}
