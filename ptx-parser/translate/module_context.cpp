#include "ptx-parser/translate/module_context.h"

#include <algorithm>

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

ModuleContext::ModuleContext(const ast::Module& tree, LinkedModules& linked)
    : ast(tree),
      out(linked.out),
      matcher(tree),
      linked_(linked),
      function_index_(tree.functions.size(), ast::kNone),
      variable_index_(tree.variables.size(), ast::kNone) {}

bool ModuleContext::HasStorage(uint32_t number, const std::vector<bool>& is_global) const {
  const ast::Variable& variable = ast.variables[number];
  // Variables of a function body with static storage are module variables too.
  return IsModuleStorage(variable.space) && (variable.function != ast::kNone || is_global[number]);
}

uint32_t ModuleContext::RequireFunction(uint32_t function) {
  uint32_t& index = function_index_[function];
  if (index != ast::kNone) return index;
  const auto& exported = linked_.exported_functions_;
  if (!ast.functions[function].has_body) {
    if (auto found = exported.find(ast.functions[function].name); found != exported.end()) {
      return index = found->second.context->RequireFunction(found->second.number);
    }
  }
  return index = linked_.AddFunction({this, function});
}

uint32_t ModuleContext::RequireVariable(uint32_t variable) {
  uint32_t index = variable_index_[variable];
  if (!linked_.variable_used_[index]) {
    linked_.variable_used_[index] = true;
    linked_.used_variables_.push_back(index);
  }
  return index;
}

LinkedModules::LinkedModules(std::span<const ast::Module* const> trees, ir::Module& module) : out(module) {
  uint32_t lines = 0, files = 0;
  for (const ast::Module* tree : trees) {
    contexts_.push_back(std::make_unique<ModuleContext>(*tree, *this));
    contexts_.back()->line_base = lines;
    contexts_.back()->file_base = files;
    if (trees.size() == 1) break;
    lines += static_cast<uint32_t>(std::count(tree->text->begin(), tree->text->end(), '\n')) + 1;
    for (const ast::File& file : tree->files)
      files = std::max(files, contexts_.back()->file_base + file.index + 1);
    for (uint32_t f = 0; f < tree->functions.size(); ++f) {
      const ast::Function& function = tree->functions[f];
      bool exported = function.linkage == ast::Linkage::kVisible || function.linkage == ast::Linkage::kWeak;
      if (exported && function.has_body)
        exported_functions_.emplace(function.name, Item{contexts_.back().get(), f});
    }
  }
  for (const auto& context : contexts_) {
    for (const ast::Variable& variable : context->ast.variables) {
      if (trees.size() > 1 && variable.linkage != ast::Linkage::kNone) names_.emplace(variable.name);
    }
  }
  if (trees.size() > 1) AddVariables(false);
  AddVariables(true);
}

// With several trees, definitions come first, so that declarations find them.
void LinkedModules::AddVariables(bool externs) {
  for (const auto& context : contexts_) {
    const ast::Module& tree = context->ast;
    std::vector<bool> is_global(tree.variables.size());
    for (uint32_t v : tree.globals) is_global[v] = true;
    for (uint32_t v = 0; v < tree.variables.size(); ++v) {
      if (!context->HasStorage(v, is_global)) continue;
      bool is_extern = tree.variables[v].linkage == ast::Linkage::kExtern;
      if (contexts_.size() == 1 || is_extern == externs) AddVariable(*context, v);
    }
  }
}

void LinkedModules::AddVariable(ModuleContext& context, uint32_t number) {
  const ast::Variable& variable = context.ast.variables[number];
  bool shared_name = contexts_.size() > 1 && variable.linkage != ast::Linkage::kNone;
  if (shared_name) {
    auto [it, fresh] =
        exported_variables_.emplace(variable.name, static_cast<uint32_t>(out.variables.size()));
    context.variable_index_[number] = it->second;
    if (!fresh) return;  // declared or defined by a tree before: .weak and .common merge
  }
  context.variable_index_[number] = static_cast<uint32_t>(out.variables.size());
  ir::Variable result;
  result.name = UniqueName(variable.name, variable.linkage == ast::Linkage::kNone);
  result.space = SpaceOf(variable.space);
  result.linkage = LinkageOf(variable.linkage);
  result.size = ByteSize(context.ast, variable);
  result.align = Alignment(variable);
  result.is_managed = variable.managed;
  result.at.ptx_line = variable.position.line + context.line_base;
  out.variables.push_back(std::move(result));
  definitions_.push_back({&context, number});
  variable_used_.push_back(false);
}

uint32_t LinkedModules::AddFunction(Item item) {
  functions_.push_back(item);
  return static_cast<uint32_t>(functions_.size() - 1);
}

std::string LinkedModules::UniqueName(std::string_view name, bool internal) {
  std::string unique(name);
  if (contexts_.size() == 1 || !internal) return unique;
  for (int i = 1; !names_.insert(unique).second; ++i) unique = std::string(name) + "." + std::to_string(i);
  return unique;
}

uint32_t ModuleContext::AddSignature(ast::Range returns, ast::Range parameters) {
  ir::Signature signature;
  for (const ast::Variable& v : ast.Variables(returns)) signature.returns.push_back(MakeParam(ast, v));
  for (const ast::Variable& v : ast.Variables(parameters)) signature.params.push_back(MakeParam(ast, v));
  out.signatures.push_back(std::move(signature));
  return static_cast<uint32_t>(out.signatures.size() - 1);
}

}  // namespace ptx2cpu::ptx
