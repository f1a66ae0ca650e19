#include "ptx-parser/translate/module_context.h"

namespace ptx2cpu::ptx {

uint64_t ByteSize(const ast::Module& module, const ast::Variable& variable) {
  int bits = Bits(FindType(variable.type));
  uint64_t size = static_cast<uint64_t>(bits < 8 ? 1 : bits / 8) * variable.vector;
  for (uint64_t dimension : module.Dimensions(variable)) size *= dimension;
  return size;
}

uint32_t Alignment(const ast::Variable& variable) {
  if (variable.align != 0) return variable.align;
  int bits = Bits(FindType(variable.type));
  return static_cast<uint32_t>((bits < 8 ? 1 : bits / 8) * variable.vector);
}

bool IsAggregate(const ast::Module& module, const ast::Variable& variable) {
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
    default:
      return ir::Space::kGlobal;
  }
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
    default:
      return ir::Variable::Linkage::kInternal;
  }
}

bool IsModuleStorage(ast::Space space) {
  return space == ast::Space::kGlobal || space == ast::Space::kConst || space == ast::Space::kShared ||
         space == ast::Space::kTex;
}
}  // namespace

ModuleContext::ModuleContext(const ast::Module& tree, ir::Module& module)
    : ast(tree),
      out(module),
      matcher(tree),
      function_index_(tree.functions.size(), ast::kNone),
      variable_index_(tree.variables.size(), ast::kNone),
      variable_used_(tree.variables.size()) {
  std::vector<bool> is_global(ast.variables.size());
  for (uint32_t v : ast.globals) is_global[v] = true;
  for (uint32_t v = 0; v < ast.variables.size(); ++v) {
    const ast::Variable& variable = ast.variables[v];
    // Variables of a function body with static storage are module variables too.
    bool at_module_scope = variable.function == ast::kNone && is_global[v];
    bool in_function = variable.function != ast::kNone && IsModuleStorage(variable.space);
    if (IsModuleStorage(variable.space) && (at_module_scope || in_function)) AddVariable(v);
  }
}

void ModuleContext::AddVariable(uint32_t number) {
  const ast::Variable& variable = ast.variables[number];
  variable_index_[number] = static_cast<uint32_t>(out.variables.size());
  ir::Variable result;
  result.name = std::string(variable.name);
  result.space = SpaceOf(variable.space);
  result.linkage = LinkageOf(variable.linkage);
  result.size = ByteSize(ast, variable);
  result.align = Alignment(variable);
  result.is_managed = variable.managed;
  result.at.ptx_line = variable.position.line;
  out.variables.push_back(std::move(result));
}

uint32_t ModuleContext::RequireFunction(uint32_t function) {
  if (function_index_[function] == ast::kNone) {
    function_index_[function] = static_cast<uint32_t>(functions_.size());
    functions_.push_back(function);
  }
  return function_index_[function];
}

uint32_t ModuleContext::RequireVariable(uint32_t variable) {
  if (!variable_used_[variable]) {
    variable_used_[variable] = true;
    used_variables_.push_back(variable);
  }
  return variable_index_[variable];
}

uint32_t ModuleContext::AddSignature(ast::Range returns, ast::Range parameters) {
  ir::Signature signature;
  for (const ast::Variable& v : ast.Variables(returns)) signature.returns.push_back(MakeParam(ast, v));
  for (const ast::Variable& v : ast.Variables(parameters)) signature.params.push_back(MakeParam(ast, v));
  out.signatures.push_back(std::move(signature));
  return static_cast<uint32_t>(out.signatures.size() - 1);
}

}  // namespace ptx2cpu::ptx
