#include "lowering/llvm/kernel/row_begin.h"

namespace ptx2cpu::lowering {

llvm::Value* RowBegin::Of(ir::ValueId id) {
  const ir::Value& value = e_.f.at_value(id);
  if (computed_.contains(id.index)) return e_.values.Get(id);
  if (!value.def.valid() || !computes_(e_.f.at_inst(value.def))) {
    const bool is_outside = value.block.valid() && e_.f.at_block(value.block).level != ir::Level::kLane;
    return is_outside && !e_.values.IsVarying(id) ? e_.values.Get(id) : nullptr;
  }
  const ir::Inst& inst = e_.f.at_inst(value.def);
  for (ir::ValueId operand : inst.operands) {
    if (Of(operand) == nullptr) return nullptr;
  }
  for (ir::ValueId result : inst.results) {
    values_.Set(result, ShapedValue{});
    computed_.insert(result.index);
  }
  return e_.EmitInst(inst) ? e_.values.Get(id) : nullptr;
}

}  // namespace ptx2cpu::lowering
