#include "ptx-parser/translate/current_instruction.h"

namespace ptx2cpu::ptx {

const ast::Operand& CurrentInstruction::Operand(size_t operand) const {
  CHECK(Present(operand), "the row reads an operand that does not exist");
  return ast.Operands(*instruction)[match.slots[operand]];
}

void CurrentInstruction::Fail(ErrorCode code, std::string message, std::string hint) {
  if (error) return;
  ast::Position at = instruction ? instruction->position : source.position;
  error = ast::ErrorAt(ast, at, code, std::move(message), std::move(hint));
}

Status CurrentInstruction::Unsupported(const std::string& what) {
  Fail(ErrorCode::kUnsupported, what + " is not translated");
  return {};
}

std::optional<int64_t> CurrentInstruction::Immediate(size_t operand) const {
  const ast::Operand& o = Operand(operand);
  if (o.kind != ast::OperandKind::kInteger) return std::nullopt;
  return o.integer;
}

bool CurrentInstruction::AccessesParameters() const {
  return Has("param") || Has("param::func") || Has("param::entry");
}

}  // namespace ptx2cpu::ptx
