#include "ptx-parser/translate/emitter.h"

#include <bit>
#include <cmath>

#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/parameters.h"
#include "ptx-parser/translate/special_registers.h"

namespace ptx2cpu::ptx {

using ast::OperandKind;
using ast::SymbolKind;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

Emitter::Emitter(ModuleContext& context_in, const ast::Function& source_in, ir::Function& function)
    : b{function, {}, {}},
      context(context_in),
      ast(context_in.ast),
      source(source_in),
      f(function),
      ssa(function) {}

Emitter::~Emitter() = default;

void Emitter::DeclareRegisters(const std::vector<Type>& types) {
  for (Type type : types) ssa.Declare(type);
  carry_ = ssa.Declare(Type::kI1);
}

const ast::Operand& Emitter::Operand(size_t operand) const {
  CHECK(Present(operand), "the row reads an operand that does not exist");
  return ast.Operands(*instruction)[match.slots[operand]];
}

void Emitter::Fail(ErrorCode code, std::string message, std::string hint) {
  if (error) return;
  ast::Position at = instruction ? instruction->position : source.position;
  error = ast::ErrorAt(ast, at, code, std::move(message), std::move(hint));
}

Status Emitter::Unsupported(const std::string& what) {
  Fail(ErrorCode::kUnsupported, what + " is not translated");
  return {};
}

void Emitter::SetBlock(ir::BlockId block) {
  b.block = block;
  constants_.clear();
}

void Emitter::AddEdges(ir::InstId terminator) {
  for (uint32_t e = 0; e < f.at_inst(terminator).edges.size(); ++e) {
    ssa.AddEdge(terminator, e, f.at_inst(terminator).edges[e].to);
  }
}

ValueId Emitter::Const(Type type, uint64_t bits) {
  if (ir::Bits(type) < 64) bits &= (uint64_t{1} << ir::Bits(type)) - 1;
  uint64_t key = bits * 16 + static_cast<uint64_t>(type);
  bool exact = bits >> 60 == 0;  // others would share keys
  if (exact) {
    if (auto it = constants_.find(key); it != constants_.end()) return it->second;
  }
  ValueId value = b.Const(type, bits);
  if (exact) constants_.emplace(key, value);
  return value;
}

ValueId Emitter::Offset(ValueId address, int64_t offset) {
  if (offset == 0) return address;
  return b.Binary(Opcode::kAdd, Type::kI64, address, Const(Type::kI64, static_cast<uint64_t>(offset)));
}

// -- variables --

ValueId Emitter::ReadVariable(Ssa::Variable variable) { return ssa.Read(variable, b.block); }

void Emitter::WriteVariable(Ssa::Variable variable, ValueId value) {
  if (delaying) {
    delayed.push_back({variable, value});
  } else {
    ssa.Write(variable, b.block, value);
  }
}

ValueId Emitter::ReadCarry() { return ReadVariable(carry_); }
void Emitter::WriteCarry(ValueId carry) { WriteVariable(carry_, carry); }

uint32_t Emitter::LocalIndex(uint32_t variable) {
  auto [it, fresh] = locals_.emplace(variable, static_cast<uint32_t>(f.locals.size()));
  if (fresh) {
    const ast::Variable& v = ast.variables[variable];
    ir::LocalVariable local;
    local.name = std::string(v.name);
    local.size = static_cast<uint32_t>(ByteSize(ast, v));
    local.align = Alignment(v);
    const uint64_t offset = (uint64_t{f.local_bytes} + local.align - 1) / local.align * local.align;
    if (offset + local.size > kMaxWindowBytes) {
      Fail(ErrorCode::kUnsupported, "the .local variables of `" + f.name + "` have more than " +
                                        std::to_string(kMaxWindowBytes) + " bytes together");
      local.size = 0;
    } else {
      local.offset = static_cast<uint32_t>(offset);
      f.local_bytes = local.offset + local.size;
    }
    f.locals.push_back(std::move(local));
  }
  return it->second;
}

// -- reading --

// Same bits in another type of the width; the low bits when `type` is narrower, zeros above when it is wider.
ValueId Emitter::Fit(ValueId value, Type type) {
  Type have = f.type_of(value);
  if (have == type) return value;
  int from = ir::Bits(have), to = ir::Bits(type);
  if (from == to) {
    const ir::Value& v = f.at_value(value);
    if (v.def.valid() && f.at_inst(v.def).op == Opcode::kBitcast) {  // do not stack casts
      ValueId original = f.at_inst(v.def).operands[0];
      if (f.type_of(original) == type) return original;
    }
    return b.Bitcast(type, value);
  }
  ValueId integer = ir::IsInteger(have) ? value : b.Bitcast(ir::IntegerOfBits(from), value);
  ValueId fitted = b.Convert(from > to ? Opcode::kTrunc : Opcode::kZext, ir::IntegerOfBits(to), integer);
  return ir::IsInteger(type) ? fitted : b.Bitcast(type, fitted);
}

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
  switch (type) {
    case Type::kF64:
      return std::bit_cast<uint64_t>(value);
    case Type::kF16:
      return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    case Type::kBF16: {
      uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
      if (std::isnan(value)) return 0x7fff;
      return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
    default:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
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

ValueId Emitter::SymbolAddress(const ast::Operand& operand) {
  HasOnly(operand, kOffset);
  if (operand.symbol_kind != SymbolKind::kFunction && operand.symbol_kind != SymbolKind::kVariable) {
    Fail(ErrorCode::kUnsupported, "`" + std::string(operand.text) + "` as an address is not translated");
    return Const(Type::kI64, 0);
  }
  int64_t offset = operand.kind == OperandKind::kElement ? 0 : operand.integer;  // children share its storage
  if (operand.symbol_kind == SymbolKind::kFunction) {
    uint32_t index = context.RequireFunction(operand.symbol);
    return b.Inst1(Opcode::kFunctionAddress, Type::kVoid, {}, {.index = index});
  }
  const ast::Variable& variable = ast.variables[operand.symbol];
  if (IsImageReference(variable) && operand.kind != OperandKind::kElement && offset == 0)
    return ReadHandle(*this, operand);  // what can be done with its address can be done with the handle
  if (operand.kind == OperandKind::kElement) {
    const ast::Operand& index = ast.Children(operand)[0];
    if (index.kind != OperandKind::kInteger || ast.Dimensions(variable).size() > 1)
      Fail(ErrorCode::kUnsupported, "only elements of one constant index are translated here");
    else
      offset = index.integer * std::max(1, Bits(FindType(variable.type)) / 8) * variable.vector;
  }
  switch (variable.space) {
    case ast::Space::kParam:
      return Offset(params->Address(*this, operand.symbol), offset);
    case ast::Space::kLocal:
      return Offset(b.Symbol(ir::Space::kLocal, LocalIndex(operand.symbol)), offset);
    case ast::Space::kGlobal:
    case ast::Space::kConst:
    case ast::Space::kShared:
    case ast::Space::kTex: {
      if (variable.bank != 0) {
        Fail(ErrorCode::kUnsupported, "constant bank " + std::to_string(variable.bank) +
                                          " is not translated: only the driver of that time could fill it");
        return Const(Type::kI64, 0);
      }
      uint32_t index = context.RequireVariable(operand.symbol);
      return Offset(b.Symbol(SpaceOf(variable.space), index), offset);
    }
    default:
      break;
  }
  Fail(ErrorCode::kUnsupported, "the address of `" + std::string(operand.text) + "` is not translated");
  return Const(Type::kI64, 0);
}

// One value: not a byte or half of it. Elements of vector registers are registers of their own.
bool Emitter::IsWholeRegister(const ast::Operand& operand) const {
  return operand.component == ast::Component::kNone ||
         ast.RegisterDeclaration(source, operand.symbol).vector > 1;
}

// Where addresses are real ones, 32 bits do not hold one: such code was made for 32-bit hosts. Shared and
// local addresses are offsets in their windows.
bool Emitter::CheckAddressBits(ir::Space space, int bits) {
  if (bits >= 64 || space == ir::Space::kShared || space == ir::Space::kLocal) return true;
  Fail(ErrorCode::kUnsupported, "a 32-bit register cannot be an address in the " + std::string(Name(space)) +
                                    " space: only code with 64-bit addresses is translated");
  return false;
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
    default:
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
    default:
      return ReadSymbol(operand, type);
  }
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

std::optional<int64_t> Emitter::Immediate(size_t operand) const {
  const ast::Operand& o = Operand(operand);
  if (o.kind != OperandKind::kInteger) return std::nullopt;
  return o.integer;
}

Type Emitter::StoredType(const ast::Operand& operand, int bits) const {
  if (operand.symbol_kind == SymbolKind::kRegister) {
    Type type = ssa.TypeOf(operand.symbol);
    if (ir::Bits(type) == bits) return type;
  }
  return ir::IntegerOfBits(bits);
}

// A 32-bit register and a distance add up in 32 bits. Windows are smaller than 2 GiB, so that a register
// widened as signed has the same sum wherever the access is legal: one below zero, brought back by the
// distance, too.
ValueId Emitter::AddressRegister(const ast::Operand& operand) {
  const ValueId value = ReadVariable(operand.symbol);
  if (f.type_of(value) != Type::kI32 || operand.integer == 0) return Fit(value, Type::kI64);
  return b.Convert(Opcode::kSext, Type::kI64, value);
}

// Shared memory of the cluster is accessed by real addresses, but a named variable is the block's own.
Place Emitter::Address(size_t operand, ir::Space space) {
  const ast::Operand& o = Operand(operand);
  if (space == ir::Space::kSharedCluster) {
    if (o.symbol_kind == SymbolKind::kVariable) return Address(operand, ir::Space::kShared);
    // In that window, too, 32 bits hold an address.
    const Place place = Address(operand, ir::Space::kShared);
    return {b.Inst1(Opcode::kToGeneric, Type::kVoid, {place.address}, {.space = space}), ir::Space::kGeneric};
  }
  switch (o.symbol_kind) {
    case SymbolKind::kNone:
      return {Const(Type::kI64, static_cast<uint64_t>(o.integer)), space};
    case SymbolKind::kRegister:
      HasOnly(o, kOffset | kComponent);
      CheckAddressBits(space, ir::Bits(ssa.TypeOf(o.symbol)));
      return {Offset(AddressRegister(o), o.integer), space};
    case SymbolKind::kVariable: {
      // A generic access to a named variable goes to that variable.
      const ast::Variable& variable = ast.variables[o.symbol];
      ir::Space own =
          variable.space == ast::Space::kParam ? params->SpaceOf(o.symbol) : SpaceOf(variable.space);
      bool fits = space == ir::Space::kGeneric || space == own ||
                  (variable.space == ast::Space::kParam && space == ir::Space::kParam) ||
                  (variable.space == ast::Space::kParam && space == ir::Space::kLocal);
      if (!fits) {
        Fail(ErrorCode::kSyntax, "`" + std::string(o.text) + "` is a variable in the " +
                                     std::string(Name(own)) + " space, the instruction accesses the " +
                                     std::string(Name(space)) + " space");
      }
      return {SymbolAddress(o), own};
    }
    default:
      Fail(ErrorCode::kUnsupported, "`" + std::string(o.text) + "` as an address is not translated");
  }
  return {Const(Type::kI64, 0), space};
}

Place Emitter::WritableAddress(size_t operand, ir::Space space) {
  Place place = Address(operand, space);
  if (place.space == ir::Space::kConst || place.space == ir::Space::kParam) {
    Fail(ErrorCode::kSyntax, "constants and the parameters of a kernel cannot be written");
  }
  return place;
}

// -- writing --

void Emitter::WriteOperand(const ast::Operand& operand, ValueId value, bool sign) {
  if (operand.kind == OperandKind::kSink) return;
  if (operand.kind == OperandKind::kPair) {
    WriteOperand(ast.Children(operand)[0], value, sign);
    return;
  }
  if (operand.kind == OperandKind::kVector) {
    std::span<const ast::Operand> children = ast.Children(operand);
    int bits = ir::Bits(f.type_of(value)) / static_cast<int>(children.size());
    std::vector<ValueId> parts = b.Unpack(ir::IntegerOfBits(bits), value);
    for (size_t i = 0; i < children.size(); ++i) WriteOperand(children[i], parts[i], sign);
    return;
  }
  if (!HasOnly(operand, kComponent)) return;
  if (operand.symbol_kind != SymbolKind::kRegister || !IsWholeRegister(operand)) {
    Fail(ErrorCode::kUnsupported, "a destination of this shape is not translated");
    return;
  }
  int width = ir::Bits(ssa.TypeOf(operand.symbol)), bits = ir::Bits(f.type_of(value));
  if (bits < width && sign && ir::IsInteger(f.type_of(value))) {
    value = b.Convert(Opcode::kSext, ir::IntegerOfBits(width), value);
  } else if (bits != width) {
    value = Fit(value, ir::IntegerOfBits(width));
  }
  WriteVariable(operand.symbol, value);
}

void Emitter::WriteElements(size_t operand, std::vector<ValueId> elements) {
  if (elements.size() == 1) {
    Write(operand, elements[0]);
  } else {
    Write(operand, b.Pack(WholeType(OperandType(operand)), std::move(elements)));
  }
}

void Emitter::WriteVector(size_t operand, const std::vector<ValueId>& values, bool sign) {
  const ast::Operand& o = Operand(operand);
  if (o.kind != OperandKind::kVector) {
    WriteOperand(o, values[0], sign);
    return;
  }
  std::span<const ast::Operand> children = ast.Children(o);
  for (size_t i = 0; i < children.size(); ++i) WriteOperand(children[i], values[i], sign);
}

}  // namespace ptx2cpu::ptx
