// Registers and local variables; writing to operands. See read_operand.cpp, operand_address.cpp.
#include "ptx-parser/translate/emitter.h"

#include "ptx-parser/translate/parameters.h"

namespace ptx2cpu::ptx {

using ast::OperandKind;
using ast::SymbolKind;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

Emitter::Emitter(ModuleContext& context_in, const ast::Function& source_in, ir::Function& function)
    : SsaBuilder(context_in.ast, source_in, function), context(context_in) {}

Emitter::~Emitter() = default;

void Emitter::DeclareRegisters(const std::vector<Type>& types) {
  for (Type type : types) ssa.Declare(type);
  carry_ = ssa.Declare(Type::kI1);
}

ir::ValueId Emitter::MayContract(ir::ValueId value) {
  if (!Has("rn") && !Has("rz") && !Has("rm") && !Has("rp"))
    unrounded.push_back({f.at_value(value).def, statement_block});
  return value;
}

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

// One value: not a byte or half of it. Elements of vector registers are registers of their own.
bool Emitter::IsWholeRegister(const ast::Operand& operand) const {
  return operand.component == ast::Component::kNone ||
         ast.RegisterDeclaration(source, operand.symbol).vector > 1;
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
