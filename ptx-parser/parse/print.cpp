#include "ptx-parser/parse/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace ptx2cpu::ptx {
namespace {

using ast::Operand;
using ast::OperandKind;
using ast::StatementKind;

std::string_view Name(ast::Space space) {
  switch (space) {
    case ast::Space::kReg:
      return ".reg";
    case ast::Space::kSreg:
      return ".sreg";
    case ast::Space::kConst:
      return ".const";
    case ast::Space::kGlobal:
      return ".global";
    case ast::Space::kLocal:
      return ".local";
    case ast::Space::kParam:
      return ".param";
    case ast::Space::kShared:
      return ".shared";
    case ast::Space::kTex:
      return ".tex";
    case ast::Space::kGeneric:
      return "";
  }
  return "";
}

std::string_view Name(ast::Linkage linkage) {
  switch (linkage) {
    case ast::Linkage::kNone:
      return "";
    case ast::Linkage::kExtern:
      return ".extern ";
    case ast::Linkage::kVisible:
      return ".visible ";
    case ast::Linkage::kWeak:
      return ".weak ";
    case ast::Linkage::kCommon:
      return ".common ";
  }
  return "";
}

std::string_view Name(ast::Component component) {
  constexpr std::string_view kNames[] = {"",    ".x",  ".y",  ".z",  ".w", ".b0", ".b1",
                                         ".b2", ".b3", ".h0", ".h1", ".b", ".h"};
  return kNames[static_cast<size_t>(component)];
}

class Printer {
 public:
  explicit Printer(const ast::Module& module) : module_(module) {}
  std::string Take() { return std::move(out_); }

  template <typename... Args>
  void Put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void Put(std::string_view text) { out_ += text; }

  // ---- operands

  void PutList(ast::Range children, std::string_view open, std::string_view separator,
               std::string_view close) {
    Put(open);
    for (uint32_t i = 0; i < children.count; ++i) {
      if (i > 0) Put(separator);
      PutOperand(module_.operands[children.first + i]);
    }
    Put(close);
  }
  // [a-4] is not an address to ptxas, [a+-4] is.
  void PutOffset(int64_t offset) {
    if (offset != 0) Put("+{}", offset);
  }
  void PutSelection(ast::Selection selection) {
    for (uint32_t i = selection.count; i-- > 0;) Put("{}", selection.Digit(i));
  }
  void PutInteger(const Operand& o) {
    if (!o.text.empty()) return Put(o.text);
    if (o.Has(Operand::kUnsigned)) return Put("{}U", o.bits);
    // The literal alone would be unsigned.
    if (o.integer == INT64_MIN) return Put("(.s64)0x8000000000000000");
    Put("{}", o.integer);
  }
  void PutIdentifier(const Operand& o) {
    if (o.Has(Operand::kNegated)) Put("!");
    if (o.Has(Operand::kMinus)) Put("-");
    if (o.Has(Operand::kGeneric)) {
      Put("generic({})", o.text);
    } else {
      Put("{}{}", o.text, Name(o.component));
    }
    if (o.HasSelection()) return PutSelection(ast::Selection::Of(o.integer));
    PutOffset(o.integer);
  }
  void PutAddress(const Operand& o) {
    Put("[");
    if (o.text.empty()) {
      Put("{}", o.integer);
    } else {
      PutIdentifier(o);
    }
    Put("]");
  }
  void PutOperand(const Operand& o) {
    switch (o.kind) {
      case OperandKind::kIdentifier:
        PutIdentifier(o);
        break;
      case OperandKind::kInteger:
        PutInteger(o);
        break;
      case OperandKind::kFloat32:
        o.text.empty() ? Put("0f{:08X}", o.bits) : Put(o.text);
        break;
      case OperandKind::kFloat64:
        o.text.empty() ? Put("0d{:016X}", o.bits) : Put(o.text);
        break;
      case OperandKind::kSink:
        Put("_");
        break;
      case OperandKind::kAddress:
        PutAddress(o);
        break;
      case OperandKind::kElement:
        Put(o.text), PutList(o.children, "[", "", "]");
        break;
      case OperandKind::kVector:
        PutList(o.children, "{", ", ", "}");
        break;
      case OperandKind::kPair:
        PutList(o.children, "", "|", "");
        break;
      case OperandKind::kArguments:
        PutList(o.children, "(", ", ", ")");
        break;
      case OperandKind::kBracket:
        PutList(o.children, "[", ", ", "]");
        break;
      case OperandKind::kMasked:
        Put("0x{:X}", uint64_t{0xFF} << (8 * o.symbol)), PutList(o.children, "(", "", ")");
        break;
      case OperandKind::kField:
        Put("{} = ", o.text), PutList(o.children, "", "", "");
        break;
    }
    if (o.Has(Operand::kUnified)) Put(".unified");
  }

  void PutInstruction(const ast::Instruction& i) {
    if (i.guard != ast::Guard::kNone) Put("@{}{} ", i.guard == ast::Guard::kIfFalse ? "!" : "", i.guard_text);
    Put(module_.OpcodeOf(i).text);
    PutList(i.operands, i.operands.empty() ? "" : " ", ", ", ";");
  }

  // ---- variables

  void PutVariable(const ast::Variable& v) {
    Put("{}{}", Name(v.linkage), Name(v.space));
    if (v.bank != 0) Put("[{}]", v.bank);
    if (v.managed) Put(" .attribute(.managed)");
    if (v.unified) Put(" .attribute(.unified(0, 0))");
    if (v.align != 0) Put(" .align {}", v.align);
    if (v.vector != 1) Put(" .v{}", v.vector);
    Put(" .{}", v.type);
    if (v.is_pointer) {
      Put(" .ptr{}{}", v.pointer_space == ast::Space::kGeneric ? "" : " ", Name(v.pointer_space));
      if (v.pointer_align != 0) Put(" .align {}", v.pointer_align);
    }
    Put(" {}", v.name);
    if (v.parameterised != 0) Put("<{}>", v.parameterised);
    for (uint64_t size : module_.Dimensions(v)) size == 0 ? Put("[]") : Put("[{}]", size);
    if (v.initializer == ast::kNone) return;
    Put(" = ");
    PutOperand(module_.operands[v.initializer]);
  }
  void PutParameters(ast::Range range) {
    Put("(");
    for (uint32_t i = 0; i < range.count; ++i) {
      Put(i == 0 ? "" : ", ");
      PutVariable(module_.variables[range.first + i]);
    }
    Put(")");
  }

  // ---- functions

  void PutDimensions(std::string_view name, const ast::Dimensions& d) {
    if (d[0] != 0) Put("\n{} {}, {}, {}", name, d[0], d[1], d[2]);
  }
  void PutLimit(std::string_view name, uint32_t value, uint32_t absent) {
    if (value != absent) Put("\n{} {}", name, value);
  }
  void PutDirectives(const ast::Function& f) {
    if (f.noreturn) Put("\n.noreturn");
    if (f.unified) Put("\n.attribute(.unified(0, 0))");
    PutDimensions(".maxntid", f.maxntid);
    PutDimensions(".reqntid", f.reqntid);
    PutDimensions(".reqnctapercluster", f.reqnctapercluster);
    if (f.explicit_cluster) Put("\n.explicitcluster");
    if (f.blocks_are_clusters) Put("\n.blocksareclusters");
    PutLimit(".maxclusterrank", f.maxclusterrank, 0);
    PutLimit(".maxnreg", f.maxnreg, 0);
    PutLimit(".minnctapersm", f.minnctapersm, 0);
    PutLimit(".maxnctapersm", f.maxnctapersm, 0);
    PutLimit(".abi_preserve", f.abi_preserve, ast::kNone);
    PutLimit(".abi_preserve_control", f.abi_preserve_control, ast::kNone);
    for (uint32_t i = 0; i < f.pragmas.count; ++i) {
      Put("\n.pragma \"{}\";", module_.pragmas[f.pragmas.first + i].text);
    }
  }
  void PutFunction(const ast::Function& f) {
    Put("{}{} ", Name(f.linkage), f.is_entry ? ".entry" : ".func");
    if (!f.returns.empty()) PutParameters(f.returns), Put(" ");
    Put(f.name);
    const bool lists_parameters = !f.is_entry || !IsBefore(1, 4);
    if (lists_parameters) PutParameters(f.parameters);
    PutDirectives(f);
    if (!f.has_body) return Put("\n;\n");
    Put("\n{\n");
    if (!lists_parameters) {
      for (const ast::Variable& v : module_.Variables(f.parameters)) Put("  "), PutVariable(v), Put(";\n");
    }
    size_t depth = 1;
    for (const ast::Statement& s : module_.Statements(f)) {
      if (s.kind == StatementKind::kScopeEnd) --depth;
      if (s.kind != StatementKind::kLabel) out_.append(2 * depth, ' ');
      PutStatement(s);
      if (s.kind == StatementKind::kScopeBegin) ++depth;
      Put("\n");
    }
    Put("}\n");
  }
  void PutStatement(const ast::Statement& s) {
    switch (s.kind) {
      case StatementKind::kInstruction:
        return PutInstruction(module_.instructions[s.index]);
      case StatementKind::kLabel:
        return Put("{}:", module_.labels[s.index].name);
      case StatementKind::kDeclaration:
        return PutVariable(module_.variables[s.index]), Put(";");
      case StatementKind::kLoc:
        return PutLoc(module_.locs[s.index]);
      case StatementKind::kPragma:
        return Put(".pragma \"{}\";", module_.pragmas[s.index].text);
      case StatementKind::kTargets:
        return PutTargets(module_.targets[s.index]);
      case StatementKind::kPrototype:
        return PutPrototype(module_.prototypes[s.index]);
      case StatementKind::kScopeBegin:
        return Put("{");
      case StatementKind::kScopeEnd:
        return Put("}");
    }
  }
  void PutLoc(const ast::Loc& loc) {
    Put(".loc {} {} {}", loc.file, loc.line, loc.column);
    if (!loc.function_name.empty()) {
      Put(", function_name {}", loc.function_name);
      if (loc.function_offset != 0) Put("+{}", loc.function_offset);
    }
    if (loc.inlined_line != 0 || loc.inlined_file != 0) {
      Put(", inlined_at {} {} {}", loc.inlined_file, loc.inlined_line, loc.inlined_column);
    }
  }
  void PutTargets(const ast::Targets& t) {
    Put("{}: {} ", t.name, t.calls ? ".calltargets" : ".branchtargets");
    PutList(t.operands, "", ", ", ";");
  }
  void PutPrototype(const ast::Prototype& p) {
    Put("{}: .callprototype ", p.name);
    if (!p.returns.empty()) PutParameters(p.returns), Put(" ");
    Put("_ ");
    PutParameters(p.parameters);
    if (p.noreturn) Put(" .noreturn");
    if (p.abi_preserve != ast::kNone) Put(" .abi_preserve {}", p.abi_preserve);
    if (p.abi_preserve_control != ast::kNone) Put(" .abi_preserve_control {}", p.abi_preserve_control);
    Put(";");
  }

  // ---- modules

  void PutModule() {
    Put(".version {}.{}\n.target ", module_.version_major, module_.version_minor);
    for (size_t i = 0; i < module_.target.words.size(); ++i) {
      Put("{}{}", i == 0 ? "" : ", ", module_.target.words[i]);
    }
    if (!IsBefore(2, 3)) Put("\n.address_size {}", module_.address_size);
    Put("\n\n");
    for (const Item& item : ItemsInSourceOrder()) (this->*item.put)(item.index);
  }

 private:
  bool IsBefore(uint32_t major, uint32_t minor) const {
    return std::tie(module_.version_major, module_.version_minor) < std::tie(major, minor);
  }

  struct Item {
    ast::Position position;
    void (Printer::*put)(size_t);
    size_t index;
  };

  // Order matters to ptxas: a name must be declared before an initialiser takes its address.
  std::vector<Item> ItemsInSourceOrder() const {
    std::vector<Item> items;
    for (uint32_t i : module_.globals)
      items.push_back({module_.variables[i].position, &Printer::PutGlobal, i});
    for (uint32_t i : module_.module_pragmas)
      items.push_back({module_.pragmas[i].position, &Printer::PutPragma, i});
    for (size_t i = 0; i < module_.functions.size(); ++i) {
      items.push_back({module_.functions[i].position, &Printer::PutFunctionAt, i});
    }
    for (size_t i = 0; i < module_.files.size(); ++i) {
      items.push_back({module_.files[i].position, &Printer::PutFile, i});
    }
    for (size_t i = 0; i < module_.sections.size(); ++i) {
      items.push_back({module_.sections[i].position, &Printer::PutSection, i});
    }
    for (size_t i = 0; i < module_.aliases.size(); ++i) {
      items.push_back({module_.aliases[i].position, &Printer::PutAlias, i});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return std::tie(a.position.line, a.position.column) < std::tie(b.position.line, b.position.column);
    });
    return items;
  }
  void PutGlobal(size_t i) { PutVariable(module_.variables[i]), Put(";\n"); }
  void PutPragma(size_t i) { Put(".pragma \"{}\";\n", module_.pragmas[i].text); }
  void PutFunctionAt(size_t i) { PutFunction(module_.functions[i]), Put("\n"); }
  void PutFile(size_t i) { Put(".file {} \"{}\"\n", module_.files[i].index, module_.files[i].name); }
  void PutSection(size_t i) {
    Put(".section {} {{{}}}\n", module_.sections[i].name, module_.sections[i].body);
  }
  void PutAlias(size_t i) { Put(".alias {}, {};\n", module_.aliases[i].name, module_.aliases[i].target); }

  const ast::Module& module_;
  std::string out_;
};

}  // namespace

std::string Print(const ast::Module& module) {
  Printer printer(module);
  printer.PutModule();
  return printer.Take();
}
std::string Print(const ast::Module& module, const ast::Function& function) {
  Printer printer(module);
  printer.PutFunction(function);
  return printer.Take();
}
std::string Print(const ast::Module& module, const ast::Instruction& instruction) {
  Printer printer(module);
  printer.PutInstruction(instruction);
  return printer.Take();
}
std::string Print(const ast::Module& module, const ast::Operand& operand) {
  Printer printer(module);
  printer.PutOperand(operand);
  return printer.Take();
}
std::string Print(const ast::Module& module, const ast::Variable& variable) {
  Printer printer(module);
  printer.PutVariable(variable);
  return printer.Take();
}

}  // namespace ptx2cpu::ptx
