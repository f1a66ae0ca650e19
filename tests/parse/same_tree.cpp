#include "tests/parse/same_tree.h"

#include <fmt/format.h>

namespace ptx2cpu::ptx::tests {
namespace {

using ast::Operand;

bool Same(ast::Range a, ast::Range b) { return a.first == b.first && a.count == b.count; }

// Tools may order orphans of constant expressions differently in the pool, so operands are compared as trees.
struct Comparison {
  const ast::Module& a;
  const ast::Module& b;

  bool SameOperands(ast::Range x, ast::Range y) const {
    if (x.count != y.count) return false;
    for (uint32_t i = 0; i < x.count; ++i) {
      if (!SameOperand(a.operands[x.first + i], b.operands[y.first + i])) return false;
    }
    return true;
  }
  bool SameOperand(const Operand& x, const Operand& y) const {
    if (x.kind != y.kind || x.flags != y.flags || x.component != y.component) return false;
    if (x.symbol_kind != y.symbol_kind || x.symbol != y.symbol) return false;
    const bool is_literal = x.kind == ast::OperandKind::kInteger || x.kind == ast::OperandKind::kFloat32 ||
                            x.kind == ast::OperandKind::kFloat64;
    if (!is_literal && x.text != y.text) return false;
    return x.HasChildren() ? SameOperands(x.children, y.children) : x.bits == y.bits;
  }
  bool SameVariable(const ast::Variable& x, const ast::Variable& y) const {
    if ((x.initializer == ast::kNone) != (y.initializer == ast::kNone)) return false;
    if (x.initializer != ast::kNone && !SameOperand(a.operands[x.initializer], b.operands[y.initializer]))
      return false;
    const auto dx = a.Dimensions(x);
    const auto dy = b.Dimensions(y);
    return std::equal(dx.begin(), dx.end(), dy.begin(), dy.end()) && x.space == y.space &&
           x.linkage == y.linkage && x.vector == y.vector && x.is_pointer == y.is_pointer &&
           x.managed == y.managed && x.unified == y.unified && x.bank == y.bank &&
           x.pointer_space == y.pointer_space && x.align == y.align && x.pointer_align == y.pointer_align &&
           x.type == y.type && x.name == y.name && x.parameterised == y.parameterised &&
           x.first_register == y.first_register && x.function == y.function;
  }
  bool SameInstruction(const ast::Instruction& x, const ast::Instruction& y) const {
    return a.OpcodeOf(x).text == b.OpcodeOf(y).text && x.guard == y.guard && x.guard_text == y.guard_text &&
           x.guard_register == y.guard_register && SameOperands(x.operands, y.operands);
  }
  bool SameFunction(const ast::Function& x, const ast::Function& y) const {
    return x.is_entry == y.is_entry && x.has_body == y.has_body && x.noreturn == y.noreturn &&
           x.explicit_cluster == y.explicit_cluster && x.blocks_are_clusters == y.blocks_are_clusters &&
           x.unified == y.unified && x.linkage == y.linkage && x.name == y.name &&
           Same(x.returns, y.returns) && Same(x.parameters, y.parameters) &&
           Same(x.statements, y.statements) && Same(x.instructions, y.instructions) &&
           Same(x.pragmas, y.pragmas) && x.maxntid == y.maxntid && x.reqntid == y.reqntid &&
           x.reqnctapercluster == y.reqnctapercluster && x.maxclusterrank == y.maxclusterrank &&
           x.maxnreg == y.maxnreg && x.minnctapersm == y.minnctapersm && x.maxnctapersm == y.maxnctapersm &&
           x.abi_preserve == y.abi_preserve && x.abi_preserve_control == y.abi_preserve_control &&
           x.register_count == y.register_count;
  }
  static bool SameStatement(const ast::Statement& x, const ast::Statement& y) {
    return x.kind == y.kind && x.index == y.index;
  }
  static bool SameLoc(const ast::Loc& x, const ast::Loc& y) {
    return x.file == y.file && x.line == y.line && x.column == y.column &&
           x.function_name == y.function_name && x.function_offset == y.function_offset &&
           x.inlined_file == y.inlined_file && x.inlined_line == y.inlined_line &&
           x.inlined_column == y.inlined_column;
  }
  bool SameTargets(const ast::Targets& x, const ast::Targets& y) const {
    return x.calls == y.calls && x.name == y.name && SameOperands(x.operands, y.operands);
  }
  static bool SamePrototype(const ast::Prototype& x, const ast::Prototype& y) {
    return x.name == y.name && Same(x.returns, y.returns) && Same(x.parameters, y.parameters) &&
           x.noreturn == y.noreturn && x.abi_preserve == y.abi_preserve &&
           x.abi_preserve_control == y.abi_preserve_control;
  }

  template <typename T, typename SameNode>
  std::string Pool(const char* name, const std::vector<T>& x, const std::vector<T>& y, SameNode same) const {
    if (x.size() != y.size()) return fmt::format("{} {} against {}", x.size(), name, y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (!same(x[i], y[i])) return fmt::format("{} {} differs", name, i);
    }
    return {};
  }
};

}  // namespace

std::string Difference(const ast::Module& a, const ast::Module& b) {
  const Comparison c{a, b};
  if (a.version_major != b.version_major || a.version_minor != b.version_minor) return "version";
  if (a.target.words != b.target.words || a.target.sm != b.target.sm) return "target";
  if (a.address_size != b.address_size || a.globals != b.globals) return "address size or globals";
  const std::string differences[] = {
      c.Pool("variables", a.variables, b.variables, [&](auto& x, auto& y) { return c.SameVariable(x, y); }),
      c.Pool("functions", a.functions, b.functions, [&](auto& x, auto& y) { return c.SameFunction(x, y); }),
      c.Pool("instructions", a.instructions, b.instructions,
             [&](auto& x, auto& y) { return c.SameInstruction(x, y); }),
      c.Pool("statements", a.statements, b.statements, Comparison::SameStatement),
      c.Pool("locs", a.locs, b.locs, Comparison::SameLoc),
      c.Pool("targets", a.targets, b.targets, [&](auto& x, auto& y) { return c.SameTargets(x, y); }),
      c.Pool("prototypes", a.prototypes, b.prototypes, Comparison::SamePrototype),
      c.Pool("labels", a.labels, b.labels,
             [](auto& x, auto& y) { return x.name == y.name && x.statement == y.statement; }),
      c.Pool("pragmas", a.pragmas, b.pragmas, [](auto& x, auto& y) { return x.text == y.text; }),
      c.Pool("files", a.files, b.files,
             [](auto& x, auto& y) { return x.index == y.index && x.name == y.name; }),
      c.Pool("sections", a.sections, b.sections,
             [](auto& x, auto& y) { return x.name == y.name && x.body == y.body; }),
      c.Pool("aliases", a.aliases, b.aliases,
             [](auto& x, auto& y) {
               return x.name == y.name && x.target == y.target && x.function == y.function;
             }),
  };
  for (const std::string& difference : differences) {
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace ptx2cpu::ptx::tests
