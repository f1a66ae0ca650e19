// Values that the block's shape decides become constants.
//
//   before, in blocks of 256 threads                after
//     %r = sub 511, %tid.x                            (unused)
//     %c = shr_u %r, 8       ; 256 to 511 over 256    %c = const 1
//     %p = icmp eq %c, 0                              %p = const false
//     cond_br %p, ^remainder, ^rest                   cond_br %p: the next pass folds it
//
// Loops over tiles that a compiler has unrolled for any block shape have such tests for the remainder.
#include "analysis/values/value_ranges.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {

Status DecideByRanges(ir::Module&, ir::Function& f, const PassOptions& options) {
  const auto ranges = analysis::FindValueRanges(f, options.launch.value_or(analysis::PromisedShape(f)));
  for (ir::Inst& inst : f.insts) {
    if (!inst.block.valid() || inst.results.size() != 1 || inst.op == ir::Opcode::kConst) continue;
    if (ir::Info(inst.op).effect != ir::Effect::kPure) continue;
    const ir::ValueId result = inst.results[0];
    const auto& range = ranges[result.index];
    if (!range || !range->exact()) continue;
    inst.op = ir::Opcode::kConst;
    inst.type = f.type_of(result);
    inst.from = ir::Type::kVoid;
    inst.attrs = {};
    inst.attrs.bits = range->low;
    inst.operands.clear();
  }
  return {};
}

}  // namespace ptx2cpu::lowering
