// The instruction under translation: its match in the table, its operands, and its first error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "ptx-parser/match/match.h"

namespace ptx2cpu::ptx {

class CurrentInstruction {
 public:
  CurrentInstruction(const ast::Module& ast_in, const ast::Function& source_in)
      : ast(ast_in), source(source_in) {}

  const ast::Module& ast;
  const ast::Function& source;
  const ast::Instruction* instruction = nullptr;
  Match match = {};
  const Modifiers& mods() const { return *match.modifiers; }
  bool Has(Word word) const { return mods().Has(word); }
  PtxType type() const { return mods().last(); }    // of sources
  PtxType dtype() const { return mods().first(); }  // of destinations
  bool AccessesParameters() const;                  // whether the instruction names the .param space

  // Operands, by their number in the form.
  bool Present(size_t operand) const { return match.slots[operand] != Match::kAbsent; }
  const ast::Operand& Operand(size_t operand) const;
  PtxType OperandType(size_t operand) const { return TypeOf(match.form->operands[operand], mods()); }
  std::optional<int64_t> Immediate(size_t operand) const;

  // The first error of the function.
  void Fail(ErrorCode code, std::string message, std::string hint = {});
  Status Unsupported(const std::string& what);
  std::optional<Error> error;
};

}  // namespace ptx2cpu::ptx
