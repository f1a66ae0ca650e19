// Passes of the Simt phase by their result: what is inlined, folded, refused.
#include "ir/verify/verify.h"
#include "tests/passes/count_instructions.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

ir::Module Run(const std::string& text,
               Status (*pass)(ir::Module&, ir::Function&, const lowering::PassOptions&)) {
  ir::Module module = ParseModule("module \"m\" ptx 8.0 sm 80\n" + text);
  Status status = pass(module, Kernel(module), {});
  if (!status) FAIL(status.error().Render());
  Status valid = ir::Verify(module, Kernel(module));
  if (!valid) FAIL(valid.error().Render() << ir::Print(module));
  return module;
}

Status Inlined(ir::Module& module, ir::Function&, const lowering::PassOptions& options) {
  return lowering::InlineCalls(module, options);
}

}  // namespace

TEST_CASE("simplify folds constant branches, merges blocks, drops what is not needed", "[passes]") {
  ir::Module module = Run(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %t = const i1 0x1
  %one = const i32 0x1
  %unused = add i32 %one, %one
  cond_br %t, ^a(%one), ^dead
^a(%x: i32):
  store i32 global %data, %x
  br ^b(%x, %one)
^b(%y: i32, %never: i32):
  store i32 global %data, %y
  ret
^dead:
  trap
}
)",
                          lowering::Simplify);
  const ir::Function& f = module.functions[0];
  CHECK(ir::ReversePostOrder(f).size() == 1);
  CHECK(Count(f, ir::Opcode::kAdd) == 0);
  CHECK(Count(f, ir::Opcode::kStore) == 2);
  CHECK(f.at_block(f.entry).insts.size() == 6);
}

TEST_CASE("simplify keeps loops, effects and volatile reads", "[passes]") {
  ir::Module module = Run(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %zero = const i32 0x0
  %one = const i32 0x1
  br ^loop(%zero, %zero)
^loop(%i: i32, %dead: i32):
  %v = load i32 global volatile %data
  %i2 = add i32 %i, %one
  %d2 = add i32 %dead, %one
  %more = icmp i32 ult %i2, %i
  cond_br %more, ^loop(%i2, %d2), ^out
^out:
  ret
}
)",
                          lowering::Simplify);
  const ir::Function& f = module.functions[0];
  CHECK(Count(f, ir::Opcode::kLoad) == 2);
  CHECK(Count(f, ir::Opcode::kAdd) == 1);  // the dead counter is gone, round the loop
  CHECK(ir::ReversePostOrder(f).size() == 3);
}

namespace {
const std::string kCallee = R"(function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  BODY
  ret %x
}
kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %t = special i32 tid.x
  %r: i32 = call @f %t ; ptx 30
  %s: i32 = call @f %r ; ptx 31
  store i32 global %data, %s
  ret
}
)";
std::string WithBody(const std::string& body) {
  std::string text = kCallee;
  return text.replace(text.find("BODY"), 4, body);
}
std::string Long(int size) {
  std::string body = "%c0 = const i32 0x1\n";
  for (int i = 0; i < size; ++i) body += "  %v" + std::to_string(i) + " = add i32 %x, %c0\n";
  return body;
}
}  // namespace

TEST_CASE("calls are inlined when they concern the caller's regions or are small", "[passes]") {
  ir::Module small = Run(WithBody(""), Inlined);
  CHECK(Count(Kernel(small), ir::Opcode::kCall) == 0);
  // A function that calls none is inlined while its copies are not too many.
  ir::Module leaf = Run(WithBody(Long(60)), Inlined);
  CHECK(Count(Kernel(leaf), ir::Opcode::kCall) == 0);
  ir::Module stays = Run(WithBody(Long(2200)), Inlined);
  CHECK(Count(Kernel(stays), ir::Opcode::kCall) == 2);
  ir::Module calls = Run("declare function @other (x: i64) phase simt\n" +
                             WithBody("%w = sext i64 from i32 %x\n  call @other %w\n" + Long(60)),
                         Inlined);
  CHECK(Count(Kernel(calls), ir::Opcode::kCall) == 2);
  ir::Module barrier = Run(WithBody(Long(2200) + "  %f = const i32 0xffffffff\n  barrier_warp %f"), Inlined);
  CHECK(Count(Kernel(barrier), ir::Opcode::kCall) == 0);
  CHECK(Count(Kernel(barrier), ir::Opcode::kBarrierWarp) == 2);
}

TEST_CASE("an inlined callee's local variables become the caller's", "[passes]") {
  ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/call_barrier.ir"));
  REQUIRE(lowering::InlineCalls(module, {}));
  const ir::Function& f = Kernel(module);
  REQUIRE(f.locals.size() == 1);
  CHECK(f.locals[0].size == 8);
  CHECK(f.local_bytes >= 8);
  CHECK(Count(f, ir::Opcode::kCall) == 0);
}
