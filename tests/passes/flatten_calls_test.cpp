// Calls that lead to a barrier and cannot be inlined: jumps with a stack in the kernel itself.
#include <algorithm>

#include "ir/verify/verify.h"
#include "tests/passes/count_instructions.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {
// A kernel whose threads store the result of @f for its parameter.
const std::string kCallsF = R"(kernel @k (data: i64 @0, n: i32 @8) phase simt { ; ptx 20
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %r: i32 = call @f %n
  %t = special i32 tid.x
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  store i32 global %a, %r
  ret
}
)";

// Recursion and function pointers that lead to a barrier run with resumable lanes, and in no other tier.
void CheckFlattening(const std::string& text, uint32_t line) {
  ir::Module module = ParseModule(text);
  ir::Module lanes = module;
  REQUIRE(lowering::InlineCalls(lanes, {}));
  REQUIRE(lowering::FlattenCalls(lanes, Kernel(lanes), {}));
  CHECK(Kernel(lanes).resumes == ir::Resumes::kLanes);
  CHECK(Count(Kernel(lanes), ir::Opcode::kBarrierBlock) == 1);
  REQUIRE(ir::Verify(lanes));
  for (uint32_t threads : {1u, 33u, 64u}) {
    Outcome expected = RunKernel(module, Kernel(module), threads, 7),
            actual = RunKernel(lanes, Kernel(lanes), threads, 7);
    REQUIRE(expected.status);
    REQUIRE(actual.status);
    CHECK(expected.data == actual.data);
  }
  Result<ir::Module> forced = AfterTier(module, lowering::Tier::kWarp);
  REQUIRE_FALSE(forced);
  CHECK(forced.error().code == ErrorCode::kUnsupported);
  CHECK(forced.error().at.line == line);
}
}  // namespace

TEST_CASE("recursion through a barrier becomes jumps with a stack", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  %one = const i32 0x1
  barrier_block %z
  %p = icmp i32 eq %x, %z
  cond_br %p, ^end, ^more
^more:
  %y = sub i32 %x, %one
  %q: i32 = call @f %y ; ptx 12
  %s = add i32 %q, %x
  ret %s
^end:
  %t = special i32 tid.x
  ret %t
}
)" + kCallsF,
                  20);
}

TEST_CASE("an indirect call that may reach a barrier becomes a jump with a stack", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
signature #0 (x: i32) -> (r: i32)
function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  barrier_block %z
  %r = add i32 %x, %x
  ret %r
}
kernel @k (data: i64 @0, n: i32 @8) phase simt { ; ptx 20
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %t = special i32 tid.x
  %f = function_address @f
  %r: i32 = call_indirect #0 %f, %t ; ptx 9
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  store i32 global %a, %r
  ret
}
)",
                  20);
}

TEST_CASE("what is needed after two calls lives through both", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  %one = const i32 0x1
  %two = const i32 0x2
  %w = mul i32 %x, %x
  barrier_block %z
  %p = icmp i32 ule %x, %one
  cond_br %p, ^end, ^more
^more:
  %y = sub i32 %x, %one
  %q: i32 = call @f %y ; ptx 12
  %y2 = sub i32 %y, %one
  %q2: i32 = call @f %y2 ; ptx 13
  %s = add i32 %q, %w
  ret %s
^end:
  %t = special i32 tid.x
  ret %t
}
)" + kCallsF,
                  20);
}

TEST_CASE("a recursive function that never returns leaves no way back to its calls", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
function @stop (x: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  %one = const i32 0x1
  barrier_block %z
  %p = icmp i32 eq %x, %z
  cond_br %p, ^end, ^more
^more:
  %y = sub i32 %x, %one
  call @stop %y ; ptx 12
  br ^again
^again:
  br ^again
^end:
  exit
}
kernel @k (data: i64 @0, n: i32 @8) phase simt { ; ptx 20
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %t = special i32 tid.x
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  %p = icmp i32 eq %n, %two
  cond_br %p, ^out, ^in
^in:
  store i32 global %a, %n
  call @stop %n
  br ^out
^out:
  store i32 global %a, %t
  ret
}
)",
                  20);
}

namespace {
std::string LongChain() {  // of values that are needed
  std::string body = "%c0 = const i32 0x5\n  %v0 = mul i32 %x, %c0\n";
  for (int i = 1; i < 60; ++i)
    body += "  %v" + std::to_string(i) + " = mul i32 %v" + std::to_string(i - 1) + ", %v" +
            std::to_string(i - 1) + "\n";
  return body;
}

// f<i> holds a barrier and calls f<i + 1> twice.
std::string CallsInPairs(uint32_t depth) {
  std::string text = "module \"m\" ptx 8.0 sm 80\n";
  for (uint32_t i = 0; i < depth; ++i) {
    const std::string name = "@f" + std::to_string(i), next = "@f" + std::to_string(i + 1);
    text += "function " + name + " (x: i32) -> (r: i32) phase simt {\n^b0(%x: i32):\n" + LongChain() +
            "  %f = const i32 0xffffffff\n  barrier_warp %f\n";
    if (i + 1 < depth) {
      text += "  %q: i32 = call " + next + " %v59\n  %s: i32 = call " + next + " %q\n  ret %s\n}\n";
    } else {
      text += "  ret %v59\n}\n";
    }
  }
  return text + R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %t = special i32 tid.x
  %r: i32 = call @f0 %t ; ptx 30
  %s: i32 = call @f0 %r ; ptx 31
  store i32 global %data, %s
  ret
}
)";
}
}  // namespace

TEST_CASE("functions that suspend are flattened where their copies would be too many", "[passes]") {
  ir::Module few = ParseModule(CallsInPairs(3));
  REQUIRE(lowering::InlineCalls(few, {}));
  CHECK(Count(Kernel(few), ir::Opcode::kCall) == 0);
  CHECK(std::ranges::all_of(few.functions,
                            [](const ir::Function& f) { return f.is_kernel || f.is_declaration; }));
  const ir::Module many = ParseModule(CallsInPairs(11));
  Result<ir::Module> lowered = AfterTier(many, lowering::Tier::kAuto);
  REQUIRE(lowered);
  CHECK(Kernel(*lowered).resumes == ir::Resumes::kLanes);
  CHECK(Kernel(*lowered).insts.size() < 5000);
  ir::Module before = many;
  Outcome expected = RunKernel(many, Kernel(before), 3, 7),
          actual = RunKernel(*lowered, Kernel(*lowered), 3, 7);
  REQUIRE(expected.status);
  REQUIRE(actual.status);
  CHECK(expected.data == actual.data);
}
