// What the functions of one translation share: the module being made, and which of the syntax trees'
// functions and variables it needs so far. With several trees (relocatable PTX), names that one declares and
// another defines are one.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/function.h"
#include "ptx-parser/match/match.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

class LinkedModules;

// One syntax tree's part of a translation.
class ModuleContext {
 public:
  ModuleContext(const ast::Module& ast, LinkedModules& linked);

  const ast::Module& ast;
  ir::Module& out;
  Matcher matcher;
  uint32_t line_base = 0;  // added to line numbers: the lines of the trees before it
  uint32_t file_base = 0;  // added to .file numbers

  // IR index of a function; the first request appends it to those to be translated.
  uint32_t RequireFunction(uint32_t function);
  // IR index of a module variable; the first request marks it as used.
  uint32_t RequireVariable(uint32_t variable);
  // Every variable with static storage has one; kNone for the others.
  uint32_t VariableIndex(uint32_t variable) const { return variable_index_[variable]; }
  // IR signature of a .callprototype or of a function used as one.
  uint32_t AddSignature(ast::Range returns, ast::Range parameters);

 private:
  friend class LinkedModules;
  bool HasStorage(uint32_t variable, const std::vector<bool>& is_global) const;

  LinkedModules& linked_;
  std::vector<uint32_t> function_index_, variable_index_;
};

// All trees of a translation.
class LinkedModules {
 public:
  // A function or variable of one of the trees.
  struct Item {
    ModuleContext* context = nullptr;
    uint32_t number = ast::kNone;
  };

  LinkedModules(std::span<const ast::Module* const> trees, ir::Module& out);

  ir::Module& out;
  std::span<const std::unique_ptr<ModuleContext>> contexts() const { return contexts_; }

  // In IR order. Both grow while functions are translated.
  const std::vector<Item>& functions() const { return functions_; }
  const std::vector<uint32_t>& used_variables() const { return used_variables_; }  // IR indices
  bool IsUsed(uint32_t ir_variable) const { return variable_used_[ir_variable]; }
  const Item& Definition(uint32_t ir_variable) const { return definitions_[ir_variable]; }
  // The name of an internal symbol, with a suffix where another symbol has it already; others keep theirs.
  std::string UniqueName(std::string_view name, bool internal);

 private:
  friend class ModuleContext;
  void AddVariables(bool externs);
  void AddVariable(ModuleContext& context, uint32_t variable);
  uint32_t AddFunction(Item item);

  std::vector<std::unique_ptr<ModuleContext>> contexts_;
  std::vector<Item> functions_;
  std::vector<Item> definitions_;    // by IR variable
  std::vector<bool> variable_used_;  // by IR variable
  std::vector<uint32_t> used_variables_;
  std::unordered_map<std::string_view, Item> exported_functions_;  // with body, of more than one tree
  std::unordered_map<std::string_view, uint32_t> exported_variables_;
  std::unordered_set<std::string> names_;
};

// Size in bytes of a variable or parameter: elements of its type, vector and dimensions.
uint64_t ByteSize(const ast::Module& module, const ast::Variable& variable);
uint32_t Alignment(const ast::Variable& variable);
// A parameter that travels as the address of a copy: arrays and vectors.
bool IsAggregate(const ast::Module& module, const ast::Variable& variable);
ir::Param MakeParam(const ast::Module& module, const ast::Variable& variable);
ir::Space SpaceOf(ast::Space space);

}  // namespace ptx2cpu::ptx
