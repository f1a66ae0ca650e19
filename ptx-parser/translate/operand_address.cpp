// Operands as addresses: [a], and the address of a function or variable.
#include "ptx-parser/translate/emitter.h"
#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/module_frame.h"
#include "ptx-parser/translate/parameters.h"

namespace ptx2cpu::ptx {

using ast::OperandKind;
using ast::SymbolKind;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

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
      if (const std::optional<uint32_t> shared = OffsetInModuleFrame(ast, operand.symbol))
        return Const(Type::kI64, static_cast<uint64_t>(*shared + offset));
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
    case ast::Space::kReg:
    case ast::Space::kSreg:
    case ast::Space::kGeneric:
      break;
  }
  Fail(ErrorCode::kUnsupported, "the address of `" + std::string(operand.text) + "` is not translated");
  return Const(Type::kI64, 0);
}

// Where addresses are real ones, 32 bits do not hold one: such code was made for 32-bit hosts. Shared and
// local addresses are offsets in their windows.
bool Emitter::CheckAddressBits(ir::Space space, int bits) {
  if (bits >= 64 || space == ir::Space::kShared || space == ir::Space::kLocal) return true;
  Fail(ErrorCode::kUnsupported, "a 32-bit register cannot be an address in the " + std::string(Name(space)) +
                                    " space: only code with 64-bit addresses is translated");
  return false;
}

// A 32-bit register and a distance are added in 32 bits. Windows are smaller than 2 GiB, so a register that
// is widened as signed gives the same sum wherever the access is legal, even if the register is below zero
// and the distance brings it back.
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
      if (space != ir::Space::kLocal)
        Fail(ErrorCode::kSyntax, "only addresses in the local space can be numbers");
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
      // Constants and parameters have generic addresses by cvta only.
      const bool has_generic_address = variable.space == ast::Space::kGlobal ||
                                       variable.space == ast::Space::kShared ||
                                       variable.space == ast::Space::kLocal;
      const bool fits = variable.space == ast::Space::kParam
                            ? AccessesParameters()
                            : space == own || (space == ir::Space::kGeneric && has_generic_address);
      if (!fits) {
        Fail(ErrorCode::kSyntax, "`" + std::string(o.text) + "` is a variable in the " +
                                     std::string(Name(own)) + " space, the instruction accesses the " +
                                     std::string(Name(space)) + " space");
      }
      return {SymbolAddress(o), own};
    }
    case SymbolKind::kFunction:
    case SymbolKind::kLabel:
    case SymbolKind::kSpecialRegister:
    case SymbolKind::kTargets:
    case SymbolKind::kPrototype:
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

}  // namespace ptx2cpu::ptx
