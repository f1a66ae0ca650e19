#include "tests/analysis/float_kernel.h"

namespace ptx2cpu {

ir::Module FloatKernel(const std::string& definitions, const std::string& body) {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k (data: i64 @0) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %tid = special i32 tid.x
  %zero = const i32 0x0
  %full = const i32 0xffffffff
  %odd = icmp i32 ne %tid, %zero
  %x = load f32 global %data
  %y = load f32 global %data
)" + definitions + body + "  store f32 global %data, %r\n  ret\n}\n";
  auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  return std::move(*module);
}

ir::ValueId Stored(const ir::Function& f) {
  ir::ValueId stored;
  for (const ir::Inst& inst : f.insts) {
    if (inst.op == ir::Opcode::kStore) stored = inst.operands[1];
  }
  REQUIRE(stored.valid());
  return stored;
}

std::string FloatLoop(const std::string& start, const std::string& next) {
  return "  br ^loop(" + start + ", %zero)\n^loop(%m: f32, %n: i32):\n" + next +
         "  %step = const i32 0x1\n  %n2 = add i32 %n, %step\n  %more = icmp i32 ult %n2, %tid\n"
         "  cond_br %more, ^loop(%m2, %n2), ^after(%m2)\n^after(%r: f32):\n";
}

}  // namespace ptx2cpu
