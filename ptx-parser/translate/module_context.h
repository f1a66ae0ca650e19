// What the functions of one translation share: the module being made, and which of the syntax tree's
// functions and variables it needs so far.
#pragma once

#include <vector>

#include "ir/function.h"
#include "ptx-parser/match/match.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

class ModuleContext {
 public:
  ModuleContext(const ast::Module& ast, ir::Module& out);

  const ast::Module& ast;
  ir::Module& out;
  Matcher matcher;

  // IR index of a function; the first request appends it to `functions` to be translated.
  uint32_t RequireFunction(uint32_t function);
  // IR index of a module variable (every one has an index); the first request marks it as used.
  uint32_t RequireVariable(uint32_t variable);
  bool IsUsed(uint32_t variable) const { return variable_used_[variable]; }
  uint32_t VariableIndex(uint32_t variable) const { return variable_index_[variable]; }
  // IR signature of a .callprototype or of a function used as one.
  uint32_t AddSignature(ast::Range returns, ast::Range parameters);

  const std::vector<uint32_t>& functions() const { return functions_; }  // syntax tree indices, IR order
  const std::vector<uint32_t>& used_variables() const { return used_variables_; }

 private:
  void AddVariable(uint32_t variable);

  std::vector<uint32_t> functions_, used_variables_;
  std::vector<uint32_t> function_index_, variable_index_;
  std::vector<bool> variable_used_;
};

// Size in bytes of a variable or parameter: elements of its type, vector and dimensions.
uint64_t ByteSize(const ast::Module& module, const ast::Variable& variable);
uint32_t Alignment(const ast::Variable& variable);
// A parameter that travels as the address of a copy: arrays and vectors.
bool IsAggregate(const ast::Module& module, const ast::Variable& variable);
ir::Param MakeParam(const ast::Module& module, const ast::Variable& variable);
ir::Space SpaceOf(ast::Space space);

}  // namespace ptx2cpu::ptx
