// State that the functions of one translation share: the module under construction, and the functions and
// variables of the program that it needs so far.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/function.h"
#include "ptx-parser/match/match.h"
#include "ptx-parser/parse/ast.h"
#include "ptx-parser/translate/symbol_table.h"

namespace ptx2cpu::ptx {

class Translation;

// One syntax tree's part of a translation.
class ModuleContext {
 public:
  ModuleContext(Translation& translation, uint32_t number);

  const ast::Module& ast;
  ir::Module& out;
  Matcher matcher;
  const uint32_t line_base;  // added to line numbers
  const uint32_t file_base;  // added to .file numbers
  ast::Position at;          // what is being translated, for what it needs

  // IR index of a function; the first request appends it to those to be translated.
  uint32_t RequireFunction(uint32_t function);
  // Makes all functions that an indirect call of these types may reach part of the translation.
  void RequireIndirectTargets(ast::Range returns, ast::Range parameters);
  // IR index of a module variable; the first request marks it as used.
  uint32_t RequireVariable(uint32_t variable);
  // Every variable with static storage has one; kNone for the others.
  uint32_t VariableIndex(uint32_t variable) const;
  // IR signature of a .callprototype or of a function used as one.
  uint32_t AddSignature(ast::Range returns, ast::Range parameters);

 private:
  Translation& translation_;
  const uint32_t number_;
  std::vector<uint32_t> function_index_;
};

// Functions and variables of all modules of the program that one kernel needs.
class Translation {
 public:
  struct Item {
    SymbolTable::Place place;
    SymbolTable::Place first_use;  // module and line that first needed it; kNone: the kernel itself
  };

  Translation(const SymbolTable& symbols, ir::Module& out);

  const SymbolTable& symbols;
  ir::Module& out;
  ModuleContext& context(SymbolTable::Place place) { return *contexts_[place.module]; }

  // In IR order. Both grow while functions are translated.
  const std::vector<Item>& functions() const { return functions_; }
  const std::vector<Item>& used_variables() const { return used_variables_; }  // place.index is the IR index
  bool IsUsed(uint32_t ir_variable) const { return variable_used_[ir_variable]; }
  uint32_t AddFunction(SymbolTable::Place definition, SymbolTable::Place user);
  void RequireVariable(uint32_t ir_variable, SymbolTable::Place user);

 private:
  void AddVariable(const SymbolTable::Variable& variable);

  std::vector<std::unique_ptr<ModuleContext>> contexts_;
  std::vector<Item> functions_, used_variables_;
  std::vector<bool> variable_used_;  // by IR variable
};

// Size in bytes of a variable or parameter: elements of its type, vector and dimensions.
uint64_t ByteSize(const ast::Module& module, const ast::Variable& variable);
inline constexpr uint64_t kMaxWindowBytes =
    0x7fffffff;  // of .local, .shared and .param: offsets have 32 bits
// Before any size is computed: an error for a variable whose size overflows or does not fit its space.
Status CheckSizes(const ast::Module& module);
uint32_t Alignment(const ast::Variable& variable);
// A parameter that travels as the address of a copy: arrays and vectors.
bool IsAggregate(const ast::Module& module, const ast::Variable& variable);
ir::Param MakeParam(const ast::Module& module, const ast::Variable& variable);
bool IsVectorRegister(const ast::Variable& variable);
// One parameter, or one for each element of a vector register.
void AppendParams(const ast::Module& module, const ast::Variable& variable, std::vector<ir::Param>& params);
ir::Space SpaceOf(ast::Space space);

}  // namespace ptx2cpu::ptx
