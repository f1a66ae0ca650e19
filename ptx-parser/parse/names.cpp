#include "ptx-parser/parse/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ptx-parser/parse/scope_table.h"

namespace ptx2cpu::ptx {
namespace {

using ast::Operand;
using ast::OperandKind;
using ast::SymbolKind;

constexpr size_t kMaxCandidates = 4096;  // names compared with a misspelled one
constexpr size_t kMaxNameForHint = 64;

// Levenshtein distance, or `limit` if it is no less.
size_t Distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > kMaxNameForHint || b.size() > kMaxNameForHint) return limit;
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= limit) return limit;
  size_t row[kMaxNameForHint + 1];
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return std::min(row[b.size()], limit);
}

class Resolver {
 public:
  Resolver(ast::Module& module, size_t max_errors) : module_(module), max_errors_(max_errors) {}

  std::vector<Error> Run() {
    DeclareModule();
    ResolveAliases();
    for (uint32_t index : module_.globals) {
      const ast::Variable& v = module_.variables[index];
      if (v.initializer != ast::kNone) ResolveInitializer(module_.operands[v.initializer], v);
    }
    for (ast::Function& f : module_.functions) ResolveFunction(f);
    return std::move(errors_);
  }

 private:
  struct Symbol {
    SymbolKind kind = SymbolKind::kNone;
    uint32_t index = 0;
  };

  void Report(ast::Position at, std::string message, std::string hint = {}) {
    if (errors_.size() >= max_errors_) return;
    errors_.push_back(ast::ErrorAt(module_, at, ErrorCode::kSyntax, std::move(message), std::move(hint)));
  }
  void ReportDuplicate(ast::Position at, std::string_view name, ast::Position first) {
    Report(at, fmt::format("'{}' is already defined", name),
           fmt::format("first in line {}, column {}", first.line, first.column));
  }

  // ---- module scope

  ast::Position PositionOf(Symbol s) const {
    return s.kind == SymbolKind::kFunction ? module_.functions[s.index].position
                                           : module_.variables[s.index].position;
  }
  bool IsDefinition(Symbol s) const {
    return s.kind == SymbolKind::kFunction ? module_.functions[s.index].has_body
                                           : module_.variables[s.index].linkage != ast::Linkage::kExtern;
  }
  // Several declarations and one definition may share a name; the definition is what the name means.
  void DeclareGlobal(std::string_view name, Symbol symbol) {
    const auto [at, is_new] = globals_.try_emplace(name, symbol);
    if (is_new) return;
    const Symbol earlier = at->second;
    if (earlier.kind != symbol.kind || (IsDefinition(earlier) && IsDefinition(symbol))) {
      return ReportDuplicate(PositionOf(symbol), name, PositionOf(earlier));
    }
    if (IsDefinition(symbol)) at->second = symbol;
  }
  void DeclareModule() {
    for (uint32_t index : module_.globals) {
      if (module_.variables[index].space == ast::Space::kReg) {
        module_registers_.push_back(index);
      } else {
        DeclareGlobal(module_.variables[index].name, {SymbolKind::kVariable, index});
      }
    }
    for (uint32_t i = 0; i < module_.functions.size(); ++i) {
      DeclareGlobal(module_.functions[i].name, {SymbolKind::kFunction, i});
    }
  }
  void ResolveAliases() {
    for (ast::Alias& alias : module_.aliases) {
      const auto target = globals_.find(alias.target);
      if (target == globals_.end() || target->second.kind != SymbolKind::kFunction) {
        ReportUndefined(alias.position, alias.target, "function ");
        continue;
      }
      alias.function = target->second.index;
      const auto own = globals_.find(alias.name);
      if (own != globals_.end() && (own->second.kind != SymbolKind::kFunction || IsDefinition(own->second))) {
        ReportDuplicate(alias.position, alias.name, PositionOf(own->second));
      }
      globals_[alias.name] = target->second;
    }
  }
  // Nesting is bounded by kMaxNesting.
  void ResolveInitializer(Operand& o, const ast::Variable& variable) {
    if (o.kind == OperandKind::kField) return;  // its value is a word of its own: nearest, wrap
    if (o.HasChildren()) {
      for (uint32_t i = 0; i < o.children.count; ++i) {
        ResolveInitializer(module_.operands[o.children.first + i], variable);
      }
    }
    if (o.text.empty() || o.kind != OperandKind::kIdentifier) return;
    const auto found = globals_.find(o.text);
    if (found == globals_.end()) return ReportUndefined(NamePosition(o.text, variable.position), o.text, "");
    o.symbol_kind = found->second.kind;
    o.symbol = found->second.index;
  }

  // ---- functions

  ast::Position PositionOf(const ScopeTable::Entry& e) const {
    if (e.kind == SymbolKind::kLabel) return module_.labels[e.symbol].position;
    if (e.kind == SymbolKind::kTargets) return module_.targets[e.symbol].position;
    if (e.kind == SymbolKind::kPrototype) return module_.prototypes[e.symbol].position;
    return module_.variables[e.variable].position;
  }
  void Declare(const ScopeTable::Entry& entry) {
    if (const ScopeTable::Entry* earlier = scopes_.Declare(entry)) {
      ReportDuplicate(PositionOf(entry), entry.name, PositionOf(*earlier));
    }
  }
  void DeclareVariable(uint32_t index) {
    const ast::Variable& v = module_.variables[index];
    if (v.name == "_") return;
    const bool is_register = v.space == ast::Space::kReg;
    Declare({v.name, scopes_.current(), v.parameterised,
             is_register ? SymbolKind::kRegister : SymbolKind::kVariable,
             is_register ? v.first_register : index, index});
  }

  // Labels, targets and prototypes may be used before they are defined.
  void DeclareLabels(const ast::Function& f) {
    for (const ast::Statement& s : module_.Statements(f)) {
      const uint32_t scope = scopes_.current();
      switch (s.kind) {
        case ast::StatementKind::kScopeBegin:
          scopes_.Open();
          break;
        case ast::StatementKind::kScopeEnd:
          scopes_.Close();
          break;
        case ast::StatementKind::kLabel:
          Declare({module_.labels[s.index].name, scope, 0, SymbolKind::kLabel, s.index, ast::kNone});
          break;
        case ast::StatementKind::kTargets:
          Declare({module_.targets[s.index].name, scope, 0, SymbolKind::kTargets, s.index, ast::kNone});
          break;
        case ast::StatementKind::kPrototype:
          Declare({module_.prototypes[s.index].name, scope, 0, SymbolKind::kPrototype, s.index, ast::kNone});
          break;
        case ast::StatementKind::kInstruction:
        case ast::StatementKind::kDeclaration:
        case ast::StatementKind::kLoc:
        case ast::StatementKind::kPragma:
          break;
      }
    }
  }

  // Module-scope registers (PTX before 3.0): a scope around the function's own.
  void DeclareModuleRegisters(ast::Function& f) {
    if (!f.has_body || module_registers_.empty()) return;
    for (uint32_t index : module_registers_) {
      const ast::Variable& v = module_.variables[index];
      if (ast::RegisterCount(v) > ast::kMaxRegisters - f.register_count) {
        Report(f.position, fmt::format("a function has at most {} registers", ast::kMaxRegisters));
        break;
      }
      f.register_ranges.push_back({f.register_count, ast::RegisterCount(v), index});
      Declare({v.name, scopes_.current(), v.parameterised, SymbolKind::kRegister, f.register_count, index});
      f.register_count += ast::RegisterCount(v);
    }
    scopes_.Open();
  }

  void ResolveFunction(ast::Function& f) {
    scopes_.Clear();
    undefined_.clear();
    function_ = &f;
    DeclareModuleRegisters(f);
    for (uint32_t i = 0; i < f.returns.count; ++i) DeclareVariable(f.returns.first + i);
    for (uint32_t i = 0; i < f.parameters.count; ++i) DeclareVariable(f.parameters.first + i);
    DeclareLabels(f);
    scopes_.Rewind();
    if (f.has_body && !module_registers_.empty()) scopes_.Open();
    next_operand_ = f.operands.first;
    for (const ast::Statement& s : module_.Statements(f)) {
      switch (s.kind) {
        case ast::StatementKind::kInstruction:
          ResolveInstruction(module_.instructions[s.index]);
          break;
        case ast::StatementKind::kDeclaration:
          DeclareVariable(s.index);
          break;
        case ast::StatementKind::kScopeBegin:
          scopes_.Open();
          break;
        case ast::StatementKind::kScopeEnd:
          scopes_.Close();
          break;
        case ast::StatementKind::kTargets:
          ResolveOperands(module_.targets[s.index].operands, module_.targets[s.index].position);
          break;
        case ast::StatementKind::kLabel:
        case ast::StatementKind::kLoc:
        case ast::StatementKind::kPragma:
        case ast::StatementKind::kPrototype:
          break;
      }
    }
  }

  void ResolveInstruction(ast::Instruction& instruction) {
    if (instruction.guard != ast::Guard::kNone) ResolveGuard(instruction);
    ResolveOperands(instruction.operands, instruction.position);
  }

  void ResolveGuard(ast::Instruction& instruction) {
    const std::string_view name = instruction.guard_text;
    const ScopeTable::Found found = scopes_.Find(name);
    if (!found.entry) {
      ReportUndefinedOnce(NamePosition(name, instruction.position), name);
    } else if (found.entry->kind != SymbolKind::kRegister ||
               module_.variables[found.entry->variable].type != "pred") {
      Report(NamePosition(name, instruction.position),
             fmt::format("the guard '{}' is not a predicate register", name), "declare it as .reg .pred");
    } else {
      instruction.guard_register = found.entry->symbol + found.offset;
      NotePrivate(found.entry->variable, instruction.position);
    }
  }

  void NotePrivate(uint32_t variable, ast::Position position) {
    const bool of_module = variable != ast::kNone && module_.variables[variable].function == ast::kNone;
    if (of_module && function_->shared_private_use.line == 0) function_->shared_private_use = position;
  }

  // The elements of a vector register have numbers of their own; the vector is the list of them.
  void ResolveRegister(uint32_t operand, const ScopeTable::Found& found, ast::Position position) {
    Operand& o = module_.operands[operand];
    const ast::Variable& declaration = module_.variables[found.entry->variable];
    NotePrivate(found.entry->variable, position);
    o.symbol_kind = SymbolKind::kRegister;
    o.symbol = found.entry->symbol + found.offset * declaration.vector;
    if (declaration.vector == 1) return;
    if (o.component == ast::Component::kNone) {
      if (o.kind == OperandKind::kIdentifier) ListElements(operand, declaration.vector);
      return;
    }
    const uint32_t element = static_cast<uint32_t>(o.component) - static_cast<uint32_t>(ast::Component::kX);
    if (element < declaration.vector) {
      o.symbol += element;
    } else {
      Report(NamePosition(o.text, position), fmt::format("'{}' has {} elements", o.text, declaration.vector));
    }
  }

  void ListElements(uint32_t operand, uint32_t count) {
    const Operand whole = module_.operands[operand];
    Operand list;
    list.kind = OperandKind::kVector;
    list.children = {static_cast<uint32_t>(module_.operands.size()), count};
    for (uint32_t i = 0; i < count; ++i) {
      Operand element = whole;
      element.component = static_cast<ast::Component>(static_cast<uint32_t>(ast::Component::kX) + i);
      element.symbol += i;
      module_.operands.push_back(element);
    }
    module_.operands[operand] = list;
  }

  // Children precede the operands they belong to in the pool, so that one sweep reaches them all.
  void ResolveOperands(ast::Range range, ast::Position position) {
    for (const uint32_t end = range.first + range.count; next_operand_ < end; ++next_operand_) {
      Operand& o = module_.operands[next_operand_];
      const bool is_name = o.kind == OperandKind::kIdentifier || o.kind == OperandKind::kElement ||
                           (o.kind == OperandKind::kAddress && !o.text.empty());
      if (is_name) ResolveName(next_operand_, position);
    }
  }

  void ResolveName(uint32_t operand, ast::Position position) {
    Operand& o = module_.operands[operand];
    if (o.HasSelection() && o.kind != OperandKind::kIdentifier)
      Report(NamePosition(o.text, position), fmt::format("an address is no part of '{}'", o.text));
    if (const ScopeTable::Found found = scopes_.Find(o.text); found.entry) {
      if (found.entry->kind == SymbolKind::kRegister) return ResolveRegister(operand, found, position);
      o.symbol_kind = found.entry->kind;
      o.symbol = found.entry->symbol + found.offset;
      return;
    }
    if (const auto global = globals_.find(o.text); global != globals_.end()) {
      o.symbol_kind = global->second.kind;
      o.symbol = global->second.index;
      if (o.symbol_kind == SymbolKind::kVariable && module_.variables[o.symbol].space == ast::Space::kLocal)
        NotePrivate(o.symbol, position);
      return;
    }
    if (const uint32_t special = ast::FindSpecialRegister(o.text); special != ast::kNotSpecial) {
      o.symbol_kind = SymbolKind::kSpecialRegister;
      o.symbol = special;
      return;
    }
    ReportUndefinedOnce(NamePosition(o.text, position), o.text);
  }

  // Where the name is: after its instruction's beginning in the text. Spelled names have no place.
  ast::Position NamePosition(std::string_view name, ast::Position instruction) const {
    const std::string_view text = *module_.text;
    if (name.data() < text.data() || name.data() >= text.data() + text.size()) return instruction;
    const size_t offset = static_cast<size_t>(name.data() - text.data());
    const size_t newline = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
    ast::Position at = instruction;
    const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
    at.column = static_cast<uint32_t>(offset - line_start) + 1;
    at.line = 1 + static_cast<uint32_t>(
                      std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(offset), '\n'));
    return at;
  }

  void ReportUndefinedOnce(ast::Position at, std::string_view name) {
    if (errors_.size() < max_errors_ && undefined_.insert(name).second) ReportUndefined(at, name, "");
  }

  void ReportUndefined(ast::Position at, std::string_view name, std::string_view what) {
    if (errors_.size() >= max_errors_) return;
    Report(at, fmt::format("undefined {}'{}'", what, name), Hint(name));
  }

  // The nearest name that is defined, or how far the register range goes.
  std::string Hint(std::string_view name) const {
    size_t best = std::min(name.size(), std::max<size_t>(2, name.size() / 4 + 1));
    std::string nearest;
    size_t seen = 0;
    for (const ScopeTable::Entry& e : scopes_.entries()) {
      if (++seen > kMaxCandidates) break;
      if (e.name == name) {
        return fmt::format("line {} declares it, but in a block that has ended", PositionOf(e).line);
      }
      if (e.count != 0) {
        const bool same_stem = name.starts_with(e.name) && name.size() > e.name.size() &&
                               name.find_first_not_of("0123456789", e.name.size()) == std::string_view::npos;
        if (same_stem) return fmt::format("declared are {}0 to {}{}", e.name, e.name, e.count - 1);
      } else if (const size_t distance = Distance(name, e.name, best); distance < best) {
        best = distance;
        nearest = e.name;
      }
    }
    const auto consider = [&](std::string_view other) {
      if (++seen > kMaxCandidates) return;
      if (const size_t distance = Distance(name, other, best); distance < best) {
        best = distance;
        nearest = other;
      }
    };
    for (uint32_t index : module_.globals) consider(module_.variables[index].name);
    for (const ast::Function& f : module_.functions) consider(f.name);
    return nearest.empty() ? std::string{} : fmt::format("did you mean '{}'?", nearest);
  }

  ast::Module& module_;
  const size_t max_errors_;
  std::vector<Error> errors_;
  std::unordered_map<std::string_view, Symbol> globals_;
  ScopeTable scopes_;
  std::vector<uint32_t> module_registers_;
  ast::Function* function_ = nullptr;  // being resolved
  std::unordered_set<std::string_view> undefined_;
  uint32_t next_operand_ = 0;
};

}  // namespace

std::vector<Error> ResolveNames(ast::Module& module, size_t max_errors) {
  return Resolver(module, max_errors).Run();
}

}  // namespace ptx2cpu::ptx
