#include "ptx-parser/translate/kept_registers.h"

#include <algorithm>

#include "ptx-parser/translate/written_registers.h"

namespace ptx2cpu::ptx {

using ir::Type;
using ir::ValueId;

void KeptRegisters::KeepWritten() {
  ForEachWritten(e_.ast, e_.ast.Operands(*e_.instruction), e_.match,
                 [this](const ast::Operand& operand) { Keep(operand); });
}

void KeptRegisters::Keep(const ast::Operand& operand) {
  if (operand.symbol_kind == ast::SymbolKind::kRegister) {
    // The operand names a whole vector or a component of it.
    const uint32_t all = e_.ast.RegisterDeclaration(e_.source, operand.symbol).vector;
    const uint32_t before = (operand.symbol - RangeOf(operand.symbol).first) % all;
    for (uint32_t n = operand.symbol; n < operand.symbol + all - before; ++n) Keep(n);
  }
}

void KeptRegisters::Keep(uint32_t number) {
  const Type type = e_.ssa.TypeOf(number);
  const bool is_predicate = type == Type::kI1;
  const auto bytes = static_cast<uint32_t>(is_predicate ? 1 : ir::Bits(type) / 8);
  const auto [place, is_new] = locals_.emplace(number, static_cast<uint32_t>(e_.f.locals.size()));
  if (is_new) {
    ir::LocalVariable local{NameOf(number), bytes, bytes, (e_.f.local_bytes + bytes - 1) / bytes * bytes};
    e_.f.local_bytes = local.offset + bytes;
    e_.f.locals.push_back(std::move(local));
  }
  ValueId value = e_.b.Bitcast(type, e_.ReadVariable(number));
  if (is_predicate) value = e_.b.Convert(ir::Opcode::kZext, Type::kI8, value);
  const ir::Attrs always{.order = ir::MemoryOrder::kVolatile};  // no pass may take the store for unused
  e_.b.Store(is_predicate ? Type::kI8 : type, ir::Space::kLocal,
             e_.b.Symbol(ir::Space::kLocal, place->second), {value}, always);
}

const ast::RegisterRange& KeptRegisters::RangeOf(uint32_t number) const {
  return *std::ranges::find_if(e_.source.register_ranges, [&](const ast::RegisterRange& each) {
    return number - each.first < each.count;
  });
}

// As the text has it: %r12 of `.reg .b32 %r<20>`.
std::string KeptRegisters::NameOf(uint32_t number) const {
  const ast::RegisterRange& range = RangeOf(number);
  const ast::Variable& declared = e_.ast.variables[range.variable];
  const uint32_t index = number - range.first;
  std::string name(declared.name);
  if (declared.parameterised != 0) name += std::to_string(index / declared.vector);
  if (declared.vector > 1) name += "." + std::to_string(index % declared.vector);
  return name;
}

}  // namespace ptx2cpu::ptx
