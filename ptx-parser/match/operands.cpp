// Operand checks: shapes, register types against operand types, kinds of immediates.
#include <algorithm>

#include "ptx-parser/match/match.h"

namespace ptx2cpu::ptx {

namespace {

using ast::Operand;
using ast::OperandKind;
using ast::SymbolKind;

class OperandChecker {
 public:
  OperandChecker(const ast::Module& module, const ast::Function& function, const Modifiers& modifiers)
      : module_(module), function_(function), modifiers_(modifiers) {}

  // Empty when fine, else what is expected.
  std::string Check(const Operand& operand, const OperandSpec& spec) const {
    std::string wanted = Shape(operand, spec);
    if (wanted.empty() && operand.kind == OperandKind::kInteger && !spec.constants.Allows(operand.integer))
      return spec.constants.Text() +
             (operand.text.empty() ? ", not " + std::to_string(operand.integer) : std::string());
    return wanted;
  }

 private:
  std::string Shape(const Operand& operand, const OperandSpec& spec) const {
    PtxType type = TypeOf(spec, modifiers_);
    switch (spec.shape) {
      case OperandShape::kValue:
      case OperandShape::kPredicate:
        return Value(operand, type, spec, false);
      case OperandShape::kReadable:
        return Value(operand, type, spec, true);
      case OperandShape::kMovable:
        return Movable(operand, type, spec);
      case OperandShape::kPair:
        return Pair(operand, type, spec, true);
      case OperandShape::kMaybePair:
        return Pair(operand, type, spec, false);
      case OperandShape::kVectorOfVec:
        return modifiers_.vector_width() == 1 && operand.kind != OperandKind::kVector
                   ? Value(operand, type, spec, false)
                   : Vector(operand, type, spec, modifiers_.vector_width());
      case OperandShape::kVectorOf:
        return Vector(operand, type, spec, spec.count);
      case OperandShape::kWords:
        return Words(operand, spec);
      case OperandShape::kMemory:
        return Memory(operand, type, spec);
      case OperandShape::kAddress:
        return IsAddress(operand) ? std::string() : "an address";
      case OperandShape::kLabel:
        return operand.symbol_kind == SymbolKind::kLabel ? std::string() : "a label";
      case OperandShape::kTargetList:
        return operand.symbol_kind == SymbolKind::kTargets ? std::string() : "the name of a .branchtargets";
      case OperandShape::kImmediate:
        return operand.kind == OperandKind::kInteger ? std::string() : "an integer constant";
      case OperandShape::kPart:
        return operand.HasSelection() ? "one part of a register" : Part(operand, spec);
      case OperandShape::kParts:
        return Part(operand, spec);
      case OperandShape::kAnything:
      case OperandShape::kRest:
        return {};
    }
    return {};
  }

  PtxType RegisterType(const Operand& operand) const {
    return FindType(module_.RegisterDeclaration(function_, operand.symbol).type);
  }

  // Untyped bits are those of a constant of their own size; small floats have none.
  static bool TakesFloat(PtxType type, OperandKind constant) {
    if (type == PtxType::kNone) return true;
    if (Info(type).kind == TypeKind::kBits)
      return Bits(type) == (constant == OperandKind::kFloat32 ? 32 : 64);
    return type == PtxType::kF32 || type == PtxType::kF64 || type == PtxType::kF32x2;
  }

  static std::string Wanted(PtxType type, const OperandSpec& spec) {
    std::string noun = type == PtxType::kPred ? "a predicate" : "a ." + std::string(Name(type)) + " register";
    return noun + (spec.written || type == PtxType::kPred ? "" : " or constant");
  }

  std::string Register(const Operand& operand, PtxType type, const OperandSpec& spec) const {
    if (type == PtxType::kNone) return {};
    const ast::Variable& declaration = module_.RegisterDeclaration(function_, operand.symbol);
    if ((declaration.vector > 1) != (operand.component != ast::Component::kNone)) return Wanted(type, spec);
    PtxType have = FindType(declaration.type);
    return Fits(have, type, spec.wider ? Fit::kWider : Fit::kExact) ? std::string() : Wanted(type, spec);
  }

  std::string Value(const Operand& operand, PtxType type, const OperandSpec& spec, bool special) const {
    switch (operand.kind) {
      case OperandKind::kIdentifier:
        if (operand.symbol_kind == SymbolKind::kRegister) return Register(operand, type, spec);
        if (special && operand.symbol_kind == SymbolKind::kSpecialRegister && !spec.written) return {};
        // ptxas takes a variable and a constant as a value in every instruction, the variable alone in mov.
        if (!spec.written && operand.symbol_kind == SymbolKind::kVariable && operand.integer != 0 &&
            !IsFloat(type) && type != PtxType::kPred && Bits(type) >= 32)
          return {};
        return Wanted(type, spec);
      case OperandKind::kInteger:
        if (spec.written) return Wanted(type, spec);
        return IsFloat(type) && type != PtxType::kNone ? Wanted(type, spec) + " (an integer constant is not)"
                                                       : std::string();
      case OperandKind::kFloat32:
      case OperandKind::kFloat64:
        return !spec.written && TakesFloat(type, operand.kind) ? std::string() : Wanted(type, spec);
      case OperandKind::kSink:
        return spec.written ? std::string() : Wanted(type, spec);
      case OperandKind::kAddress:
      case OperandKind::kElement:
      case OperandKind::kVector:
      case OperandKind::kPair:
      case OperandKind::kArguments:
      case OperandKind::kBracket:
      case OperandKind::kMasked:
      case OperandKind::kField:
        break;
    }
    return Wanted(type, spec);
  }

  // mov takes addresses, special registers, and packs or unpacks vectors.
  std::string Movable(const Operand& operand, PtxType type, const OperandSpec& spec) const {
    if (operand.kind == OperandKind::kVector) {
      for (const Operand& child : module_.Children(operand)) {
        if (child.kind == OperandKind::kSink && spec.written) continue;
        bool is_register =
            child.kind == OperandKind::kIdentifier && child.symbol_kind == SymbolKind::kRegister;
        bool is_constant = child.kind == OperandKind::kInteger || child.kind == OperandKind::kFloat32 ||
                           child.kind == OperandKind::kFloat64;
        if (!is_register && (spec.written || !is_constant)) return "a vector of registers";
        if (is_register &&
            Bits(RegisterType(child)) * static_cast<int>(operand.children.count) != Bits(type)) {
          return "registers that make up ." + std::string(Name(type));
        }
      }
      return {};
    }
    if (spec.written) return Value(operand, type, spec, false);
    if (operand.kind == OperandKind::kIdentifier && operand.symbol_kind != SymbolKind::kRegister) {
      return operand.symbol_kind == SymbolKind::kLabel ? Wanted(type, spec) : std::string();
    }
    if (operand.kind == OperandKind::kElement) return {};
    return Value(operand, type, spec, true);
  }

  std::string Pair(const Operand& operand, PtxType type, const OperandSpec& spec, bool required) const {
    if (operand.kind != OperandKind::kPair) {
      return required ? "a pair `a|b`" : Value(operand, type, spec, false);
    }
    std::span<const Operand> children = module_.Children(operand);
    if (std::string why = Value(children[0], type, spec, false); !why.empty()) return why;
    return Value(children[1], PtxType::kPred, spec, false);
  }

  std::string Vector(const Operand& operand, PtxType type, const OperandSpec& spec, int width) const {
    std::string wanted = "a vector of " + std::to_string(width) + " ." + std::string(Name(type));
    if (operand.kind != OperandKind::kVector) return wanted;
    std::span<const Operand> children = module_.Children(operand);
    if (children.size() != static_cast<size_t>(width)) return wanted;
    for (const Operand& child : children) {
      if (!Value(child, type, spec, false).empty()) return wanted;
    }
    return {};
  }

  std::string Words(const Operand& operand, const OperandSpec& spec) const {
    auto is_word = [&](const Operand& child) {
      if (child.kind == OperandKind::kSink) return spec.written;
      return child.kind == OperandKind::kIdentifier && child.symbol_kind == SymbolKind::kRegister &&
             Register(child, PtxType::kB32, spec).empty();
    };
    auto is_sink = [](const Operand& child) { return child.kind == OperandKind::kSink; };
    const std::span<const Operand> children = module_.Children(operand);
    const bool fits = operand.kind == OperandKind::kVector && std::ranges::all_of(children, is_word) &&
                      !std::ranges::all_of(children, is_sink);
    return fits ? std::string() : "a vector of 32-bit registers";
  }

  std::string Part(const Operand& operand, const OperandSpec& spec) const {
    if (operand.kind == OperandKind::kInteger && !spec.written) return {};
    if (operand.kind == OperandKind::kIdentifier && operand.symbol_kind == SymbolKind::kRegister &&
        Fits(RegisterType(operand), PtxType::kU32, Fit::kExact)) {
      return {};
    }
    return "a 32-bit register";
  }

  // A variable, or a register that is no float.
  bool IsAddress(const Operand& operand) const {
    if (operand.kind != OperandKind::kIdentifier) return false;
    if (operand.symbol_kind != SymbolKind::kRegister) return true;
    return Fits(RegisterType(operand), PtxType::kU64, Fit::kExact) ||
           Fits(RegisterType(operand), PtxType::kU32, Fit::kExact);
  }

  std::string Memory(const Operand& operand, PtxType type, const OperandSpec& spec) const {
    if (spec.source == OperandSpec::Source::kFixed)
      return operand.kind == OperandKind::kAddress && operand.symbol_kind == SymbolKind::kRegister
                 ? Register(operand, type, spec)
                 : "an address in a ." + std::string(Name(type)) + " register";
    if (operand.kind == OperandKind::kElement) return {};
    if (operand.kind != OperandKind::kAddress) return "an address in brackets";
    if (operand.symbol_kind == SymbolKind::kRegister) {
      const int bits = Bits(RegisterType(operand));
      const bool is_whole_vector = module_.RegisterDeclaration(function_, operand.symbol).vector > 1 &&
                                   operand.component == ast::Component::kNone;
      if ((bits != 32 && bits != 64) || is_whole_vector) return "an address of 32 or 64 bits";
    }
    return {};
  }

  const ast::Module& module_;
  const ast::Function& function_;
  const Modifiers& modifiers_;
};

}  // namespace

std::string CheckOperands(const ast::Module& module, const ast::Function& function,
                          const ast::Instruction& instruction, const Form& form, const Modifiers& modifiers,
                          Match& match, std::string_view& culprit) {
  std::span<const Operand> operands = module.Operands(instruction);
  match.slots.fill(Match::kAbsent);
  const bool has_policy = modifiers.Has("L2::cache_hint");
  size_t least = form.required, most = form.operands.size();
  for (const OperandSpec& spec : form.operands) {
    if (!spec.policy) continue;
    has_policy ? ++least : --most;
  }
  std::string opcode(module.OpcodeOf(instruction).text);
  if (operands.size() < least || (!form.has_rest && operands.size() > most)) {
    return "`" + opcode + "` takes " + std::to_string(least) +
           (form.has_rest   ? " or more"
            : most != least ? " to " + std::to_string(most)
                            : "") +
           " operands, not " + std::to_string(operands.size());
  }
  OperandChecker checker(module, function, modifiers);
  size_t spare = operands.size() - least;  // optional operands that are written, left to right
  size_t next = 0;
  for (size_t i = 0; i < form.operands.size() && form.operands[i].shape != OperandShape::kRest; ++i) {
    const OperandSpec& spec = form.operands[i];
    if (spec.policy ? !has_policy : spec.optional && spare == 0) continue;
    if (spec.optional && !spec.policy) --spare;
    std::string wanted = checker.Check(operands[next], spec);
    if (!wanted.empty()) {
      std::string what(operands[next].text);
      culprit = operands[next].text;
      return "operand " + std::to_string(next + 1) + " of `" + opcode + "`" +
             (what.empty() ? "" : ", `" + what + "`,") + " must be " + wanted;
    }
    if (i < match.slots.size()) match.slots[i] = static_cast<uint8_t>(next);
    ++next;
  }
  return {};
}

}  // namespace ptx2cpu::ptx
