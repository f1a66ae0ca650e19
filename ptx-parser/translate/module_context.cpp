#include "ptx-parser/translate/module_context.h"

#include <algorithm>

namespace ptx2cpu::ptx {

uint64_t ByteSize(const ast::Module& module, const ast::Variable& variable) {
  if (variable.space == ast::Space::kTex) return sizeof(uint64_t);  // a handle, whatever type is written
  int bits = Bits(FindType(variable.type));
  uint64_t size = static_cast<uint64_t>(bits < 8 ? 1 : bits / 8) * variable.vector;
  for (uint64_t dimension : module.Dimensions(variable)) size *= dimension;
  return size;
}

namespace {

// The maximum size of a variable. In a space that is a 32-bit window, it is less than half of the window, so
// that distances keep their sign.
uint64_t SizeLimit(ast::Space space) {
  const bool in_window =
      space == ast::Space::kLocal || space == ast::Space::kShared || space == ast::Space::kParam;
  return in_window ? kMaxWindowBytes : uint64_t{1} << 62;
}

}  // namespace

Status CheckSizes(const ast::Module& module) {
  for (const ast::Variable& variable : module.variables) {
    if (variable.space == ast::Space::kReg || variable.space == ast::Space::kTex) continue;
    const uint64_t limit = SizeLimit(variable.space);
    const int bits = Bits(FindType(variable.type));
    uint64_t size = static_cast<uint64_t>(bits < 8 ? 1 : bits / 8) * variable.vector;
    bool fits = true;
    for (uint64_t dimension : module.Dimensions(variable))
      fits = !__builtin_mul_overflow(size, dimension, &size) && size <= limit && fits;
    if (fits) continue;
    return Fail(ast::ErrorAt(module, variable.position, ErrorCode::kSyntax,
                             "`" + std::string(variable.name) + "` is larger than the " +
                                 std::to_string(limit) + " bytes that a variable of its space can have"));
  }
  return {};
}

uint32_t Alignment(const ast::Variable& variable) {
  if (variable.align != 0) return variable.align;
  if (variable.space == ast::Space::kTex) return sizeof(uint64_t);
  int bits = Bits(FindType(variable.type));
  return static_cast<uint32_t>((bits < 8 ? 1 : bits / 8) * variable.vector);
}

bool IsAggregate(const ast::Module& module, const ast::Variable& variable) {
  if (variable.space == ast::Space::kReg) return false;  // elements of vector registers are registers
  return variable.vector > 1 || !module.Dimensions(variable).empty();
}

ir::Param MakeParam(const ast::Module& module, const ast::Variable& variable) {
  ir::Param param;
  param.name = std::string(variable.name);
  param.type = IsAggregate(module, variable) ? ir::Type::kVoid : WholeType(FindType(variable.type));
  param.size = static_cast<uint32_t>(ByteSize(module, variable));
  param.align = Alignment(variable);
  return param;
}

bool IsVectorRegister(const ast::Variable& variable) {
  return variable.space == ast::Space::kReg && variable.vector > 1;
}

void AppendParams(const ast::Module& module, const ast::Variable& variable, std::vector<ir::Param>& params) {
  if (!IsVectorRegister(variable)) return params.push_back(MakeParam(module, variable));
  ast::Variable element = variable;
  element.vector = 1;
  for (uint32_t i = 0; i < variable.vector; ++i) {
    params.push_back(MakeParam(module, element));
    params.back().name += "_" + std::to_string(i);
  }
}

ir::Space SpaceOf(ast::Space space) {
  switch (space) {
    case ast::Space::kConst:
      return ir::Space::kConst;
    case ast::Space::kShared:
      return ir::Space::kShared;
    case ast::Space::kLocal:
      return ir::Space::kLocal;
    case ast::Space::kParam:
      return ir::Space::kParam;
    case ast::Space::kGeneric:
      return ir::Space::kGeneric;
    case ast::Space::kReg:
    case ast::Space::kSreg:
    case ast::Space::kGlobal:
    case ast::Space::kTex:
      break;
  }
  return ir::Space::kGlobal;
}

namespace {
ir::Variable::Linkage LinkageOf(ast::Linkage linkage) {
  switch (linkage) {
    case ast::Linkage::kExtern:
      return ir::Variable::Linkage::kExtern;
    case ast::Linkage::kVisible:
      return ir::Variable::Linkage::kVisible;
    case ast::Linkage::kWeak:
      return ir::Variable::Linkage::kWeak;
    case ast::Linkage::kCommon:
      return ir::Variable::Linkage::kCommon;
    case ast::Linkage::kNone:
      break;
  }
  return ir::Variable::Linkage::kInternal;
}
}  // namespace

ModuleContext::ModuleContext(Translation& translation, uint32_t number)
    : ast(*translation.symbols.modules()[number].ast),
      out(translation.out),
      matcher(ast),
      line_base(translation.symbols.modules()[number].line_base),
      file_base(translation.symbols.modules()[number].file_base),
      translation_(translation),
      number_(number),
      function_index_(ast.functions.size(), ast::kNone) {}

uint32_t ModuleContext::RequireFunction(uint32_t function) {
  uint32_t& index = function_index_[function];
  if (index != ast::kNone) return index;
  const SymbolTable::Place declared{number_, function}, user{number_, at.line};
  const SymbolTable::Place definition = translation_.symbols.Definition(declared);
  if (definition == declared) return index = translation_.AddFunction(declared, user);
  // The other module's own entry decides whether it is known there.
  ModuleContext& owner = translation_.context(definition);
  uint32_t& known = owner.function_index_[definition.index];
  if (known == ast::kNone) known = translation_.AddFunction(definition, user);
  return index = known;
}

void ModuleContext::RequireIndirectTargets(ast::Range returns, ast::Range parameters) {
  // Bits pass as they are, so only sizes count.
  const auto fits = [&](ast::Range mine, const ast::Module& other, ast::Range theirs) {
    return std::ranges::equal(
        ast.Variables(mine), other.Variables(theirs), [&](const auto& a, const auto& b) {
          return ByteSize(ast, a) == ByteSize(other, b) && IsAggregate(ast, a) == IsAggregate(other, b);
        });
  };
  for (const SymbolTable::Place target : translation_.symbols.indirect_targets()) {
    const ast::Function& function = translation_.symbols.Function(target);
    ModuleContext& owner = translation_.context(target);
    if (!fits(returns, owner.ast, function.returns) || !fits(parameters, owner.ast, function.parameters))
      continue;
    uint32_t& index = owner.function_index_[target.index];
    if (index == ast::kNone) index = translation_.AddFunction(target, {number_, at.line});
  }
}

uint32_t ModuleContext::VariableIndex(uint32_t variable) const {
  return translation_.symbols.modules()[number_].variable_number[variable];
}

uint32_t ModuleContext::RequireVariable(uint32_t variable) {
  uint32_t index = VariableIndex(variable);
  translation_.RequireVariable(index, {number_, at.line});
  return index;
}

Translation::Translation(const SymbolTable& table, ir::Module& module) : symbols(table), out(module) {
  for (uint32_t m = 0; m < symbols.modules().size(); ++m)
    contexts_.push_back(std::make_unique<ModuleContext>(*this, m));
  out.variables.reserve(symbols.variables().size());
  for (const SymbolTable::Variable& variable : symbols.variables()) AddVariable(variable);
  variable_used_.resize(out.variables.size());
}

void Translation::AddVariable(const SymbolTable::Variable& variable) {
  const ast::Variable& source = symbols.Ast(variable.place).variables[variable.place.index];
  ir::Variable result;
  result.name = variable.name;
  result.space = SpaceOf(source.space);
  result.linkage = LinkageOf(source.linkage);
  result.size = variable.size;
  result.align = variable.align;
  result.is_managed = source.managed;
  result.at.ptx_line = source.position.line + context(variable.place).line_base;
  out.variables.push_back(std::move(result));
}

uint32_t Translation::AddFunction(SymbolTable::Place definition, SymbolTable::Place user) {
  functions_.push_back({definition, user});
  return static_cast<uint32_t>(functions_.size() - 1);
}

void Translation::RequireVariable(uint32_t ir_variable, SymbolTable::Place user) {
  if (variable_used_[ir_variable]) return;
  variable_used_[ir_variable] = true;
  used_variables_.push_back({{ast::kNone, ir_variable}, user});
}

uint32_t ModuleContext::AddSignature(ast::Range returns, ast::Range parameters) {
  ir::Signature signature;
  for (const ast::Variable& v : ast.Variables(returns)) AppendParams(ast, v, signature.returns);
  for (const ast::Variable& v : ast.Variables(parameters)) AppendParams(ast, v, signature.params);
  out.signatures.push_back(std::move(signature));
  return static_cast<uint32_t>(out.signatures.size() - 1);
}

}  // namespace ptx2cpu::ptx
