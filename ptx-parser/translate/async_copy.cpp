// 9.7.9.25: cp.async. The copy is done at once, so that groups are always complete.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {
bool IsPredicate(const Emitter& e, const ast::Operand& operand) {
  return operand.symbol_kind == ast::SymbolKind::kRegister && e.ssa.TypeOf(operand.symbol) == Type::kI1;
}
}  // namespace

// Operands: shared address, global address, size, then a source size or a predicate that says to ignore the
// source.
void cp_async(Emitter& e) {
  Place to = e.WritableAddress(0, ir::Space::kShared), from = e.Address(1, ir::Space::kGlobal);
  ValueId size = e.Read(2, Type::kI32), source_size = size;
  // With a cache hint the last operand is the policy.
  bool has_source_size = e.Present(3) && !(e.Has("L2::cache_hint") && !e.Present(4));
  if (has_source_size) {
    const ast::Operand& operand = e.Operand(3);
    source_size = IsPredicate(e, operand)
                      ? e.b.Select(e.ReadOperand(operand, Type::kI1), e.Const(Type::kI32, 0), size)
                      : e.ReadOperand(operand, Type::kI32);
  }
  e.b.Make(Opcode::kCopyAsync, Type::kVoid, {to.address, from.address, size, source_size});
}

void cp_async_group(Emitter&) {}

}  // namespace ptx2cpu::ptx::rows
