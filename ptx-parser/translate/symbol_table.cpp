#include "ptx-parser/translate/symbol_table.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ptx-parser/translate/module_context.h"

namespace ptx2cpu::ptx {

namespace {

using ItemPlace = SymbolTable::Place;
using ast::Linkage;

// The precedence of definitions: .visible before .weak before .common.
int Strength(Linkage linkage) {
  switch (linkage) {
    case Linkage::kVisible:
      return 3;
    case Linkage::kWeak:
      return 2;
    case Linkage::kCommon:
      return 1;
    case Linkage::kNone:
    case Linkage::kExtern:
      break;
  }
  return 0;
}

// Parameters of two declarations agree where callers pass them the same way.
bool SameParameters(const ast::Module& a, ast::Range in_a, const ast::Module& b, ast::Range in_b) {
  return std::ranges::equal(a.Variables(in_a), b.Variables(in_b), [&](const auto& one, const auto& other) {
    return ByteSize(a, one) == ByteSize(b, other) && IsAggregate(a, one) == IsAggregate(b, other) &&
           IsFloat(FindType(one.type)) == IsFloat(FindType(other.type));
  });
}

bool SamePrototype(const ast::Module& a, const ast::Function& in_a, const ast::Module& b,
                   const ast::Function& in_b) {
  return in_a.is_entry == in_b.is_entry && SameParameters(a, in_a.parameters, b, in_b.parameters) &&
         SameParameters(a, in_a.returns, b, in_b.returns);
}

bool IsModuleStorage(ast::Space space) {
  return space == ast::Space::kGlobal || space == ast::Space::kConst || space == ast::Space::kShared ||
         space == ast::Space::kTex;
}

std::string Where(const ast::Module& module, ast::Position at) {
  return module.file_name + ":" + std::to_string(at.line);
}

}  // namespace

// Makes a SymbolTable.
class SymbolResolver {
 public:
  explicit SymbolResolver(std::vector<const ast::Module*> modules) {
    uint32_t lines = 0, files = 0;
    for (const ast::Module* ast : modules) {
      table_.modules_.push_back(
          {ast, lines, files, std::vector<uint32_t>(ast->variables.size(), ast::kNone)});
      if (modules.size() == 1) break;
      lines += static_cast<uint32_t>(std::count(ast->text->begin(), ast->text->end(), '\n')) + 1;
      for (const ast::File& file : ast->files) {
        if (file.index <= UINT16_MAX)
          files = std::max(files, table_.modules_.back().file_base + file.index + 1);
      }
    }
  }

  void Resolve() {
    ExportFunctions();
    ExportAliases();
    ExportVariables();
    CheckPrototypes();
    NameInternalFunctions();
    NumberVariables();
    FindIndirectTargets();
  }
  SymbolTable Take() { return std::move(table_); }
  std::optional<Error>& error() { return error_; }

 private:
  uint32_t ModuleCount() const { return static_cast<uint32_t>(table_.modules_.size()); }
  const ast::Module& Ast(uint32_t module) const { return *table_.modules_[module].ast; }

  void Report(const ast::Module& module, ast::Position at, std::string message, std::string hint = {}) {
    Error error = ast::ErrorAt(module, at, ErrorCode::kLink, std::move(message), std::move(hint));
    if (!error_)
      error_ = std::move(error);
    else
      error_->more.push_back(std::move(error));
  }

  void ReportTwice(const ast::Module& module, ast::Position at, std::string_view name,
                   const ast::Module& first, ast::Position first_at) {
    Report(module, at, "`" + std::string(name) + "` is defined in " + Where(first, first_at) + " already",
           "only .weak and .common symbols may have several definitions");
  }

  // -- functions --

  void ExportFunctions() {
    for (uint32_t m = 0; m < ModuleCount(); ++m) {
      for (uint32_t f = 0; f < Ast(m).functions.size(); ++f) {
        const ast::Function& function = Ast(m).functions[f];
        if (function.has_body && Strength(function.linkage) > 0)
          Export(function.name, {m, f}, function.linkage);
      }
    }
  }

  void Export(std::string_view name, ItemPlace place, Linkage linkage) {
    auto [it, fresh] = table_.exported_functions_.emplace(name, place);
    int& strength = function_strength_[name];
    if (!fresh && strength == Strength(Linkage::kVisible) && strength == Strength(linkage) &&
        it->second != place) {
      return ReportTwice(table_.Ast(place), table_.Function(place).position, name, table_.Ast(it->second),
                         table_.Function(it->second).position);
    }
    if (!fresh && Strength(linkage) <= strength) return;
    it->second = place;
    strength = Strength(linkage);
  }

  // An alias has the linkage of its own declaration.
  void ExportAliases() {
    for (uint32_t m = 0; m < ModuleCount(); ++m) {
      for (const ast::Alias& alias : Ast(m).aliases) {
        if (alias.function == ast::kNone) continue;
        for (const ast::Function& function : Ast(m).functions) {
          if (function.name == alias.name && Strength(function.linkage) > 0)
            Export(alias.name, {m, alias.function}, function.linkage);
        }
      }
    }
  }

  void CheckPrototypes() {
    for (uint32_t m = 0; m < ModuleCount(); ++m) {
      for (uint32_t f = 0; f < Ast(m).functions.size(); ++f) {
        const ast::Function& function = Ast(m).functions[f];
        if (function.has_body && function.linkage == Linkage::kNone) continue;
        auto found = table_.exported_functions_.find(function.name);
        if (found == table_.exported_functions_.end() || found->second == ItemPlace{m, f}) continue;
        const ast::Module& other = table_.Ast(found->second);
        const ast::Function& definition = table_.Function(found->second);
        if (SamePrototype(Ast(m), function, other, definition)) continue;
        Report(Ast(m), function.position,
               "the prototype of `" + std::string(function.name) + "` is not that of its definition in " +
                   Where(other, definition.position));
      }
    }
  }

  void NameInternalFunctions() {
    std::unordered_set<std::string> names;
    for (const auto& [name, place] : table_.exported_functions_) names.emplace(name);
    for (uint32_t m = 0; m < ModuleCount(); ++m) {
      for (uint32_t f = 0; f < Ast(m).functions.size(); ++f) {
        const ast::Function& function = Ast(m).functions[f];
        if (!function.has_body || function.linkage != Linkage::kNone) continue;
        std::string unique = Unique(names, function.name);
        if (unique != function.name) table_.renamed_.emplace(SymbolTable::Key({m, f}), std::move(unique));
      }
    }
  }

  static std::string Unique(std::unordered_set<std::string>& names, std::string_view name) {
    std::string unique(name);
    for (int i = 1; !names.insert(unique).second; ++i) unique = std::string(name) + "." + std::to_string(i);
    return unique;
  }

  // -- variables --

  struct Exported {
    ItemPlace place;  // the definition, else the first declaration
    Linkage linkage = Linkage::kExtern;
    uint64_t size = 0;  // the largest, where there are several .common or .extern ones
    uint32_t align = 1;
    uint32_t number = ast::kNone;
  };

  const ast::Variable& VariableAt(ItemPlace place) const { return Ast(place.module).variables[place.index]; }

  // Module scope first, then the static variables of function bodies: those are renamed where names collide.
  template <typename Visit>
  void ForEachVariable(bool module_scope, Visit visit) const {
    for (uint32_t m = 0; m < ModuleCount(); ++m) {
      const ast::Module& ast = Ast(m);
      if (module_scope) {
        for (uint32_t v : ast.globals) {
          if (IsModuleStorage(ast.variables[v].space)) visit(ItemPlace{m, v});
        }
        continue;
      }
      for (uint32_t v = 0; v < ast.variables.size(); ++v) {
        if (ast.variables[v].function != ast::kNone && IsModuleStorage(ast.variables[v].space))
          visit(ItemPlace{m, v});
      }
    }
  }

  void ExportVariables() {
    for (bool module_scope : {true, false}) {
      ForEachVariable(module_scope, [&](ItemPlace place) {
        const ast::Variable& variable = VariableAt(place);
        if (variable.linkage == Linkage::kNone) return;
        auto [it, fresh] = exported_.emplace(variable.name, Exported{place, variable.linkage});
        if (fresh) {
          it->second.size = ByteSize(Ast(place.module), variable);
          it->second.align = Alignment(variable);
        } else {
          Merge(it->second, place, variable);
        }
      });
    }
  }

  void Merge(Exported& known, ItemPlace place, const ast::Variable& variable) {
    const ast::Module& module = Ast(place.module);
    const ast::Variable& first = VariableAt(known.place);
    const ast::Module& first_module = Ast(known.place.module);
    const uint64_t size = ByteSize(module, variable);
    const std::string name = "`" + std::string(variable.name) + "`";
    if (variable.space != first.space)
      return Report(module, variable.position,
                    name + " is in another space than in " + Where(first_module, first.position));
    if (variable.linkage == Linkage::kVisible && known.linkage == Linkage::kVisible)
      return ReportTwice(module, variable.position, variable.name, first_module, first.position);
    CheckSizes(known, module, variable, size);
    const bool both_extern = variable.linkage == Linkage::kExtern && known.linkage == Linkage::kExtern;
    const bool is_dynamic =
        both_extern && variable.space == ast::Space::kShared && std::min(size, known.size) == 0;
    known.size = is_dynamic ? 0 : std::max(known.size, size);
    known.align = std::max(known.align, Alignment(variable));
    if (Strength(variable.linkage) <= Strength(known.linkage)) return;
    known.place = place;
    known.linkage = variable.linkage;
  }

  // An array declared without a first dimension fits any; .common ones grow, but not beyond a definition.
  void CheckSizes(const Exported& known, const ast::Module& module, const ast::Variable& variable,
                  uint64_t size) {
    if (size == known.size || size == 0 || known.size == 0) return;
    const bool is_common = variable.linkage == Linkage::kCommon,
               was_common = known.linkage == Linkage::kCommon;
    if (is_common && was_common) return;
    if (is_common && size < known.size) return;
    if (was_common && known.size < size) return;
    Report(module, variable.position,
           "`" + std::string(variable.name) + "` has " + std::to_string(size) + " bytes here and " +
               std::to_string(known.size) + " in " +
               Where(Ast(known.place.module), VariableAt(known.place).position));
  }

  void NumberVariables() {
    for (const auto& [name, exported] : exported_) variable_names_.emplace(name);
    for (bool module_scope : {true, false}) {
      ForEachVariable(module_scope, [&](ItemPlace place) { Number(place); });
    }
  }

  // Static variables of a function carry its name: the same one whichever other functions exist.
  std::string NameOf(uint32_t module, const ast::Variable& variable) const {
    if (variable.function == ast::kNone || variable.space == ast::Space::kShared)
      return std::string(variable.name);
    return std::string(Ast(module).functions[variable.function].name) + "." + std::string(variable.name);
  }

  void Number(ItemPlace place) {
    const ast::Variable& variable = VariableAt(place);
    uint32_t& number = table_.modules_[place.module].variable_number[place.index];
    const auto next = static_cast<uint32_t>(table_.variables_.size());
    if (variable.linkage == Linkage::kNone) {
      number = next;
      table_.variables_.push_back({Unique(variable_names_, NameOf(place.module, variable)), place,
                                   ByteSize(Ast(place.module), variable), Alignment(variable), true});
      return;
    }
    Exported& exported = exported_.at(variable.name);
    if (exported.number == ast::kNone) {
      exported.number = next;
      table_.variables_.push_back({std::string(variable.name), exported.place, exported.size, exported.align,
                                   exported.linkage != Linkage::kExtern});
    }
    number = exported.number;
  }

  // -- functions whose address is taken --

  void FindIndirectTargets() {
    std::unordered_set<uint64_t> known;
    for (uint32_t m = 0; m < ModuleCount(); ++m) {
      const ast::Module& ast = Ast(m);
      if (std::ranges::all_of(ast.functions, &ast::Function::is_entry)) continue;
      const std::vector<bool> plain = PlainlyCalled(ast);
      for (uint32_t o = 0; o < ast.operands.size(); ++o) {
        const ast::Operand& operand = ast.operands[o];
        if (operand.symbol_kind != ast::SymbolKind::kFunction || plain[o]) continue;
        const ItemPlace target = table_.Definition({m, operand.symbol});
        const ast::Function& function = table_.Function(target);
        if (function.has_body && !function.is_entry && known.insert(SymbolTable::Key(target)).second)
          table_.indirect_targets_.push_back(target);
      }
    }
  }

  // By operand: names the callee of a direct call, or one of a list of targets.
  static std::vector<bool> PlainlyCalled(const ast::Module& ast) {
    std::vector<bool> plain(ast.operands.size());
    std::vector<bool> is_call;
    for (const ast::Opcode& opcode : ast.opcodes) is_call.push_back(opcode.base == "call");
    for (const ast::Instruction& instruction : ast.instructions) {
      if (!is_call[instruction.opcode]) continue;
      for (uint32_t i = 0; i < instruction.operands.count; ++i) plain[instruction.operands.first + i] = true;
    }
    for (const ast::Targets& targets : ast.targets) {
      for (uint32_t i = 0; i < targets.operands.count; ++i) plain[targets.operands.first + i] = true;
    }
    return plain;
  }

  SymbolTable table_;
  std::optional<Error> error_;
  std::unordered_map<std::string_view, int> function_strength_;
  std::unordered_map<std::string_view, Exported> exported_;
  std::unordered_set<std::string> variable_names_;
};

SymbolTable SymbolTable::OfOne(const ast::Module& module) {
  SymbolResolver resolver({&module});
  resolver.Resolve();
  return resolver.Take();
}

Result<SymbolTable> SymbolTable::Link(std::vector<const ast::Module*> modules) {
  if (modules.empty()) return Fail(ErrorCode::kLink, "no PTX module to link; pass at least one");
  SymbolResolver resolver(std::move(modules));
  resolver.Resolve();
  if (resolver.error()) return Fail(std::move(*resolver.error()));
  SymbolTable table = resolver.Take();
  table.is_program_ = true;
  return table;
}

SymbolTable::Place SymbolTable::Definition(Place function) const {
  const ast::Function& declared = Function(function);
  if (declared.has_body && declared.linkage == ast::Linkage::kNone) return function;
  auto found = exported_functions_.find(declared.name);
  return found == exported_functions_.end() ? function : found->second;
}

std::string_view SymbolTable::Name(Place function) const {
  auto renamed = renamed_.find(Key(function));
  return renamed == renamed_.end() ? Function(function).name : std::string_view(renamed->second);
}

std::vector<SymbolTable::Place> SymbolTable::Kernels() const {
  std::vector<Place> kernels;
  for (uint32_t m = 0; m < modules_.size(); ++m) {
    for (uint32_t f = 0; f < modules_[m].ast->functions.size(); ++f) {
      const ast::Function& function = modules_[m].ast->functions[f];
      if (function.is_entry && function.has_body && Definition({m, f}) == Place{m, f})
        kernels.push_back({m, f});
    }
  }
  return kernels;
}

SymbolTable::Place SymbolTable::FindKernel(std::string_view name) const {
  if (auto found = exported_functions_.find(name); found != exported_functions_.end()) {
    return Function(found->second).is_entry ? found->second : Place{};
  }
  for (uint32_t m = 0; m < modules_.size(); ++m) {
    for (uint32_t f = 0; f < modules_[m].ast->functions.size(); ++f) {
      const ast::Function& function = modules_[m].ast->functions[f];
      if (function.is_entry && function.has_body && Name({m, f}) == name) return {m, f};
    }
  }
  return {};
}

}  // namespace ptx2cpu::ptx
