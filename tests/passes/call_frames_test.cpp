// What flatten-calls stores around calls.
#include <algorithm>

#include "ir/verify/verify.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

TEST_CASE("an indirect call pushes one frame for whichever function it reaches", "[passes]") {
  std::string functions, choice = "  %f0 = function_address @f0\n";
  constexpr uint32_t kTargets = 5;
  for (uint32_t n = 0; n < kTargets; ++n) {
    const std::string i = std::to_string(n), before = std::to_string(n - 1);
    functions += "function @f" + i + R"( (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  barrier_block %z
  %k = const i32 )" +
                 i + "\n  %r = mul i32 %x, %k\n  ret %r\n}\n";
    if (n == 0) continue;
    choice += "  %a" + i + " = function_address @f" + i + "\n  %c" + i + " = const i32 " + i + "\n  %p" + i +
              " = icmp i32 eq %n, %c" + i + "\n  %f" + i + " = select i64 %p" + i + ", %a" + i + ", %f" +
              before + "\n";
  }
  const std::string text = "module \"m\" ptx 8.0 sm 80\nsignature #0 (x: i32) -> (r: i32)\n" + functions +
                           R"(kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %t = special i32 tid.x
)" + choice + R"(  %r: i32 = call_indirect #0 %f4, %t
  %q: i32 = call_indirect #0 %f4, %r
  %s = add i32 %q, %t
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  store i32 global %a, %s
  ret
}
)";
  ir::Module module = ParseModule(text);
  ir::Module lanes = module;
  REQUIRE(lowering::FlattenCalls(lanes, Kernel(lanes), {}));
  REQUIRE(ir::Verify(lanes));
  const ir::Function& flat = Kernel(lanes);
  const auto traps = std::ranges::count_if(
      flat.insts, [](const ir::Inst& inst) { return inst.block.valid() && inst.op == ir::Opcode::kTrap; });
  CHECK(traps == 2);  // one for each call: the stack is full
  for (const uint32_t n : {0u, 1u, 3u, 4u}) {
    const Outcome expected = RunKernel(module, Kernel(module), 33, n),
                  actual = RunKernel(lanes, Kernel(lanes), 33, n);
    REQUIRE(expected.status);
    REQUIRE(actual.status);
    CHECK(expected.data == actual.data);
  }
}

TEST_CASE("an indirect call reaches functions whose parameters have its sizes", "[passes]") {
  // Which one is called by a number: of the same types, of another type and the same size, of another size.
  const std::string text = R"(module "m" ptx 8.0 sm 80
signature #0 (x: i32) -> (r: i32)
function @same (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  barrier_block %z
  %r = add i32 %x, %x
  ret %r
}
function @bits (x: f32) -> (r: f32) phase simt {
^b0(%x: f32):
  %z = const i32 0x0
  barrier_block %z
  %b = bitcast i32 from f32 %x
  %k = const i32 0x3
  %m = mul i32 %b, %k
  %r = bitcast f32 from i32 %m
  ret %r
}
function @wide (x: i64) -> (r: i32) phase simt {
^b0(%x: i64):
  %z = const i32 0x0
  barrier_block %z
  %r = trunc i32 from i64 %x
  ret %r
}
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %t = special i32 tid.x
  %one = const i32 0x1
  %p = icmp i32 eq %n, %one
  %f = function_address @same
  %g = function_address @bits
  %unused = function_address @wide
  %h = select i64 %p, %g, %f
  %r: i32 = call_indirect #0 %h, %t
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  %w = trunc i32 from i64 %unused
  %v = sub i32 %w, %w
  %s = add i32 %r, %v
  store i32 global %a, %s
  ret
}
)";
  const ir::Module module = ParseModule(text);
  ir::Module lanes = module;
  REQUIRE(lowering::FlattenCalls(lanes, Kernel(lanes), {}));
  const Status legal = ir::Verify(lanes);
  if (!legal) FAIL(legal.error().Render());
  ir::Module copy = module;
  for (const uint32_t n : {0u, 1u}) {
    const Outcome expected = RunKernel(module, Kernel(copy), 33, n),
                  actual = RunKernel(lanes, Kernel(lanes), 33, n);
    REQUIRE(expected.status);
    REQUIRE(actual.status);
    CHECK(expected.data == actual.data);
  }
}
