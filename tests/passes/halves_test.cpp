// join-halves: which halves go from block to block as a word.
#include "ir/verify/verify.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

ir::Module Joined(const std::string& text) {
  ir::Module module = ParseModule("module \"m\" ptx 8.0 sm 80\n" + text);
  const Status status = lowering::JoinHalves(module, Kernel(module), {});
  if (!status) FAIL(status.error().Render());
  const Status valid = ir::Verify(module, Kernel(module));
  if (!valid) FAIL(valid.error().Render() << ir::Print(module));
  return module;
}

}  // namespace

TEST_CASE("halves that go around a loop and are put together there go as a word", "[passes][halves]") {
  const ir::Module module = Joined(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %zero = const i32 0x0
  %none = const f16 0x0
  br ^loop(%none, %zero, %none)
^loop(%a: f16, %i: i32, %b: f16):
  %sum = pack i32 from f16 %a, %b
  %x, %y = unpack f16 from i32 %sum
  %c = fadd f16 rn %x, %x
  %d = fadd f16 rn %y, %y
  %word = pack i32 from f16 %c, %d
  %l, %h = unpack i16 from i32 %word
  %low = bitcast f16 from i16 %l
  %high = bitcast f16 from i16 %h
  %one = const i32 0x1
  %next = add i32 %i, %one
  %ten = const i32 0xa
  %more = icmp i32 ult %next, %ten
  cond_br %more, ^loop(%low, %next, %high), ^end(%low)
^end(%r: f16):
  store f16 global %data, %r
  ret
}
)");
  const ir::Function& f = module.functions[0];
  const ir::BlockId loop = f.successors(f.entry)[0].to;
  const std::vector<ir::ValueId>& params = f.at_block(loop).params;
  REQUIRE(params.size() == 2);
  CHECK(f.type_of(params[0]) == ir::Type::kI32);
  CHECK(f.type_of(params[1]) == ir::Type::kI32);
  // What goes around is the sum itself.
  const ir::ValueId around = f.successors(loop)[0].args[1];
  CHECK(f.at_inst(f.at_value(around).def).op == ir::Opcode::kPack);
  // The sums are computed of the word that came.
  const auto made_by = [&](ir::ValueId value) { return f.at_inst(f.at_value(value).def); };
  const ir::Inst sum = made_by(made_by(around).operands[0]);
  const ir::ValueId half = sum.operands[0];
  CHECK(made_by(half).op == ir::Opcode::kUnpack);
  CHECK(made_by(half).operands[0] == params[1]);
}

TEST_CASE("halves of which no way has a word stay halves", "[passes][halves]") {
  const ir::Module module = Joined(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %a = load f16 global %data
  %b = const f16 0x0
  %t = special i32 tid.x
  %zero = const i32 0x0
  %first = icmp i32 eq %t, %zero
  cond_br %first, ^end(%a, %b), ^other
^other:
  %word = load i32 global %data
  %l, %h = unpack f16 from i32 %word
  br ^end(%h, %l)
^end(%x: f16, %y: f16):
  %r = pack i32 from f16 %x, %y
  store i32 global %data, %r
  ret
}
)");
  const ir::Function& f = module.functions[0];
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::ValueId param : f.at_block(block).params) CHECK(f.type_of(param) == ir::Type::kF16);
  }
}
