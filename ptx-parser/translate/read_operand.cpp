// Operands as values: registers, literals, special registers, lists in braces, addresses of symbols.
#include <bit>
#include <cmath>

#include "ptx-parser/translate/emitter.h"
#include "ptx-parser/translate/parameters.h"
#include "ptx-parser/translate/special_registers.h"

namespace ptx2cpu::ptx {

using ast::OperandKind;
using ast::SymbolKind;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

bool Emitter::HasOnly(const ast::Operand& operand, unsigned parts) {
  const bool offset = operand.kind != OperandKind::kElement && !operand.HasChildren() && operand.integer != 0;
  std::string_view what;
  if (offset && (parts & kOffset) == 0) what = "a constant added to it";
  if (operand.Has(ast::Operand::kNegated) && (parts & kNegation) == 0) what = "its negation";
  if (operand.Has(ast::Operand::kMinus)) what = "its sign";
  if (operand.Has(ast::Operand::kGeneric)) what = "generic()";
  if (operand.component != ast::Component::kNone && (parts & kComponent) == 0) what = "a part of it";
  if (what.empty()) return true;
  Fail(ErrorCode::kUnsupported,
       "`" + std::string(operand.text) + "`: " + std::string(what) + " is not translated here");
  return false;
}

// A constant is added in the width of the register, before the instruction takes of the sum what it reads.
ValueId Emitter::ReadRegister(const ast::Operand& operand, Type type) {
  ValueId value = ReadVariable(operand.symbol);
  if (operand.integer != 0) {
    const PtxType declared = FindType(ast.RegisterDeclaration(source, operand.symbol).type);
    if (IsFloat(declared) || declared == PtxType::kPred) {
      Fail(ErrorCode::kSyntax,
           "`" + std::string(operand.text) + "`: a constant can be added to integers only");
      return b.Undef(type);
    }
    const Type own = ir::IntegerOfBits(ir::Bits(f.type_of(value)));
    value = b.Binary(Opcode::kAdd, own, Fit(value, own), Const(own, static_cast<uint64_t>(operand.integer)));
  }
  return Fit(value, type);
}

namespace {
uint64_t BitsOfFloat(double value, Type type) {
  if (type == Type::kF64) return std::bit_cast<uint64_t>(value);
  if (type == Type::kF16) return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type != Type::kBF16) return bits;
  if (std::isnan(value)) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
}  // namespace

ValueId Emitter::ReadImmediate(const ast::Operand& operand, Type type) {
  if (operand.kind == OperandKind::kInteger) {
    if (type == Type::kI1) return Const(type, operand.integer != 0);
    return Const(type, static_cast<uint64_t>(operand.integer));
  }
  bool single = operand.kind == OperandKind::kFloat32;
  uint64_t bits = operand.bits;
  // A literal whose width is the operand's keeps its bits, also those of a signalling NaN.
  if (single && ir::Bits(type) == 32) return Const(type, static_cast<uint32_t>(bits));
  if (!single && ir::Bits(type) == 64) return Const(type, bits);
  double value = single ? std::bit_cast<float>(static_cast<uint32_t>(bits)) : std::bit_cast<double>(bits);
  Type as = ir::IsFloat(type)      ? type
            : ir::Bits(type) == 64 ? Type::kF64
            : ir::Bits(type) == 16 ? Type::kF16
                                   : Type::kF32;
  return Const(type, BitsOfFloat(value, as));
}

ValueId Emitter::ReadSpecial(const ast::Operand& operand, Type type) {
  HasOnly(operand, kComponent);
  std::optional<SpecialRegister> special =
      FindSpecial(ast::SpecialRegisterName(operand.symbol), operand.component);
  if (!special) {
    Fail(ErrorCode::kUnsupported,
         "special register `" + std::string(operand.text) + "` is not translated here");
    return b.Undef(type);
  }
  if (special->special == ir::Special::kNone) return Const(type, 0);
  const uint32_t flags = Info(special->special).varies == ir::Varies::kTime ? ir::kVolatile : 0;
  return Fit(b.SpecialRegister(special->special, special->type, special->index, flags), type);
}

// {a, b}: the parts of a wider value, first one lowest.
ValueId Emitter::ReadPacked(const ast::Operand& operand, Type type) {
  std::span<const ast::Operand> children = ast.Children(operand);
  int bits = ir::Bits(type) / static_cast<int>(children.size());
  std::vector<ValueId> parts;
  for (const ast::Operand& child : children) parts.push_back(ReadOperand(child, ir::IntegerOfBits(bits)));
  return b.Pack(type, std::move(parts));
}

ValueId Emitter::ReadSymbol(const ast::Operand& operand, Type type) {
  const ValueId address = SymbolAddress(operand);
  if (operand.symbol_kind == SymbolKind::kVariable) {
    const ast::Variable& variable = ast.variables[operand.symbol];
    CheckAddressBits(
        variable.space == ast::Space::kParam ? params->SpaceOf(operand.symbol) : SpaceOf(variable.space),
        ir::Bits(type));
  }
  return Fit(address, type);
}

ValueId Emitter::ReadOperand(const ast::Operand& operand, Type type) {
  switch (operand.kind) {
    case OperandKind::kInteger:
    case OperandKind::kFloat32:
    case OperandKind::kFloat64:
      return ReadImmediate(operand, type);
    case OperandKind::kVector:
      return ReadPacked(operand, type);
    case OperandKind::kElement:
      return ReadSymbol(operand, type);
    case OperandKind::kIdentifier:
      break;
    case OperandKind::kSink:
    case OperandKind::kAddress:
    case OperandKind::kPair:
    case OperandKind::kArguments:
    case OperandKind::kBracket:
    case OperandKind::kMasked:
    case OperandKind::kField:
      Fail(ErrorCode::kUnsupported, "an operand of this shape is not translated");
      return b.Undef(type);
  }
  switch (operand.symbol_kind) {
    case SymbolKind::kRegister: {
      if (!IsWholeRegister(operand)) {
        Fail(ErrorCode::kUnsupported, "a part of a register is not translated here");
        return b.Undef(type);
      }
      HasOnly(operand, type == Type::kI1 ? kOffset | kNegation | kComponent : kOffset | kComponent);
      ValueId value = ReadRegister(operand, type);
      if (operand.Has(ast::Operand::kNegated)) value = b.Unary(Opcode::kNot, type, value);
      return value;
    }
    case SymbolKind::kSpecialRegister:
      return ReadSpecial(operand, type);
    case SymbolKind::kNone:
    case SymbolKind::kVariable:
    case SymbolKind::kFunction:
    case SymbolKind::kLabel:
    case SymbolKind::kTargets:
    case SymbolKind::kPrototype:
      break;
  }
  return ReadSymbol(operand, type);
}

std::vector<ValueId> Emitter::ReadElements(size_t operand) {
  PtxType type = OperandType(operand);
  if (!IsPacked(type)) return {Read(operand)};
  return b.Unpack(ElementType(type), Read(operand));
}

std::vector<ValueId> Emitter::ReadVector(size_t operand, Type type) {
  const ast::Operand& o = Operand(operand);
  if (o.kind != OperandKind::kVector) return {ReadOperand(o, type)};
  std::vector<ValueId> values;
  for (const ast::Operand& child : ast.Children(o)) values.push_back(ReadOperand(child, type));
  return values;
}

Type Emitter::StoredType(const ast::Operand& operand, int bits) const {
  if (operand.symbol_kind == SymbolKind::kRegister) {
    Type type = ssa.TypeOf(operand.symbol);
    if (ir::Bits(type) == bits) return type;
  }
  return ir::IntegerOfBits(bits);
}

}  // namespace ptx2cpu::ptx
