// Values that are never NaN: body by body.
#include "analysis/lanes/numbers.h"

#include <catch2/catch.hpp>

#include "tests/analysis/float_kernel.h"

using namespace ptx2cpu;

namespace {

// Whether `%r`, which the body stores last, is never NaN.
bool IsNumber(const std::string& body) {
  const ir::Module module =
      FloatKernel("  %least = const f32 0xff800000\n  %nan = const f32 0x7fffffff\n", body);
  const std::vector<bool> numbers = analysis::FindNumbers(module.functions[0]);
  return !numbers.empty() && numbers[Stored(module.functions[0]).index];
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
  CHECK(IsNumber(FloatLoop("%least", "  %m2 = fmax f32 %m, %x\n")));
  CHECK_FALSE(IsNumber(FloatLoop("%nan", "  %m2 = fmax f32 %m, %x\n")));
  CHECK_FALSE(IsNumber(FloatLoop("%least", "  %m1 = fmax f32 %m, %x\n  %m2 = fmul f32 rn %m1, %y\n")));
  const std::string shuffled =
      "  %c = const i32 0x1f\n  %o = const i32 0x1\n  %bits = bitcast i32 from f32 %s\n"
      "  br ^all\n^all:\n  %moved, %in = shuffle i32 down %bits, %o, %c, %full\n  br ^on\n^on:\n"
      "  %r = bitcast f32 from i32 %moved\n";
  CHECK(IsNumber("  %s = fmax f32 %x, %least\n" + shuffled));
  CHECK_FALSE(IsNumber("  %t = fmax f32 %x, %least\n  %s = fadd f32 rn %t, %y\n" + shuffled));
}
