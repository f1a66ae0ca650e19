// Values that are never subnormal: body by body.
#include "analysis/lanes/exponents.h"

#include <catch2/catch.hpp>

#include "tests/analysis/float_kernel.h"

using namespace ptx2cpu;
using analysis::kAnyExponent;
using analysis::kLeastNormal;
using analysis::kNoExponent;

namespace {

ir::Module Kernel(const std::string& body) {
  return FloatKernel(R"(  %none = const f32 0x0
  %one = const f32 0x3f800000
  %eighth = const f32 0x3e000000
  %tiny = const f32 0x00000001
  %h = load f16 global %data
  %half = fconvert f32 from f16 %h
  %flushed = fadd f32 rn %x, %y {ftz}
)",
                     body);
}

// The least exponent of `%r`, which the body stores last.
int Least(const std::string& body) {
  const ir::Module module = Kernel(body);
  const auto exponents = analysis::FindLeastExponents(module.functions[0]);
  REQUIRE(!exponents.empty());
  return exponents[Stored(module.functions[0]).index];
}

int Unit(const std::string& body) {
  const ir::Module module = Kernel(body);
  return analysis::FindUnits(module.functions[0])[Stored(module.functions[0]).index];
}

// Stores `stored` to shared memory, does `more` and loads a word.
std::string ThroughShared(const std::string& stored, const std::string& more = "") {
  return "  %at = const i64 0x10\n  %other = const i64 0x20\n  store f32 shared %at, " + stored + "\n" +
         more + "  %r = load f32 shared %other\n";
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
  CHECK(Least(FloatLoop("%none", "  %m2 = ffma f32 rn %half, %half, %m {ftz}\n")) == kLeastNormal);
  CHECK(Least(FloatLoop("%none", "  %m2 = ffma f32 rn %half, %half, %m\n")) == kAnyExponent);
  CHECK(Least(FloatLoop("%one", "  %m2 = fneg f32 %m\n")) == 0);
  CHECK(Least(FloatLoop("%tiny", "  %m2 = fneg f32 %m\n")) == kAnyExponent);
  // By a step at a time it would fall for a hundred rounds.
  CHECK(Least(FloatLoop("%one", "  %m2 = fmul f32 rn %m, %eighth {ftz}\n")) == kLeastNormal);
  CHECK(Least(FloatLoop("%one", "  %m2 = fmul f32 rn %m, %eighth\n")) == kAnyExponent);
  const std::string shuffled =
      "  %c = const i32 0x1f\n  %o = const i32 0x1\n  %bits = bitcast i32 from f32 %s\n"
      "  br ^all\n^all:\n  %moved, %in = shuffle i32 down %bits, %o, %c, %full\n  br ^on\n^on:\n"
      "  %r = bitcast f32 from i32 %moved\n";
  CHECK(Least("  %s = fadd f32 rn %x, %y {ftz}\n" + shuffled) == kLeastNormal);
  CHECK(Least("  %s = fadd f32 rn %x, %y\n" + shuffled) == kAnyExponent);
}

TEST_CASE("units follow from operations", "[exponents]") {
  CHECK(Unit("  %r = fadd f32 rn %x, %one {ftz}\n") == kAnyExponent);
  CHECK(Unit("  %r = fadd f32 rn %half, %one {ftz}\n") == -24);
  CHECK(Unit("  %r = fsub f32 rn %half, %eighth\n") == -24);
  CHECK(Unit("  %big = const f32 0x43200000\n  %r = fneg f32 %big\n") == 5);  // 160
  CHECK(Unit("  %odd_one = const f32 0x3f800001\n  %r = fneg f32 %odd_one\n") == -23);
  CHECK(Unit("  %r = fneg f32 %tiny\n") == kAnyExponent);
  CHECK(Unit("  %r = fneg f32 %none\n") == kNoExponent);
  CHECK(Unit("  %r = fneg f32 %flushed\n") == kAnyExponent);
  CHECK(Unit("  %r = fmul f32 rn %half, %half {ftz}\n") == -48);
  CHECK(Unit("  %r = ffma f32 rn %half, %half, %eighth {ftz}\n") == -48);
  CHECK(Unit("  %r = ffma f32 rn %half, %x, %eighth {ftz}\n") == kAnyExponent);
  CHECK(Unit("  %big = const f32 0x43000000\n  %r = fadd f32 rn %big, %big {sat}\n") == 0);
  CHECK(Unit("  %r = fmax f32 %half, %one\n") == -24);
  CHECK(Unit("  %r = fdiv f32 rn %one, %half\n") == kAnyExponent);
  // What is too large may become the largest number, a multiple of 2^104.
  CHECK(Unit("  %big = const f32 0x7b800000\n  %r = fmul f32 rz %one, %big\n") == 104);
}

TEST_CASE("shared memory that nothing has written may hold subnormal numbers", "[exponents]") {
  const std::string unwritten = "  %at = const i64 0x10\n  %r = load f32 shared %at\n";
  CHECK(Unit(unwritten) == kAnyExponent);
  CHECK(Least(unwritten) == kAnyExponent);
  CHECK(Least(ThroughShared("%half")) == -24);
}

TEST_CASE("loops and shared memory carry units", "[exponents]") {
  CHECK(Unit(FloatLoop("%none", "  %m2 = ffma f32 rn %half, %half, %m {ftz}\n")) == -48);
  CHECK(Unit(FloatLoop("%tiny", "  %m2 = ffma f32 rn %half, %half, %m {ftz}\n")) == kAnyExponent);
  // By a step at a time it would fall for a hundred rounds.
  CHECK(Unit(FloatLoop("%one", "  %m2 = fmul f32 rn %m, %eighth {ftz}\n")) == kAnyExponent);
  CHECK(Unit(FloatLoop("%one", "  %m2 = ffma f32 rn %m, %eighth, %m {ftz}\n")) == kAnyExponent);
  CHECK(Unit(ThroughShared("%half")) == -24);
  CHECK(Unit(ThroughShared("%half", "  store f32 shared %at, %one\n  store f32 global %data, %x\n")) == -24);
  CHECK(Unit(ThroughShared("%half", "  store f32 shared %at, %x\n")) == kAnyExponent);
  CHECK(Unit(ThroughShared("%half", "  %g = to_generic shared %at\n  store f32 generic %g, %half\n")) ==
        kAnyExponent);
  CHECK(Unit(ThroughShared("%half", "  %b = const i64 0x1\n  store i64 shared %at, %b\n")) == kAnyExponent);
  CHECK(Unit(ThroughShared("%half", "  %old = atomic i32 shared relaxed gpu add %at, %zero\n")) ==
        kAnyExponent);
}
