// The interface for the functions of rows: the matched instruction (current_instruction.h), the function
// under construction (ssa_builder.h), and operands as IR values.
//
// Reading an operand never fails halfway: the first problem is kept in `error` and the translator stops after
// the row.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ptx-parser/translate/contract.h"
#include "ptx-parser/translate/module_context.h"
#include "ptx-parser/translate/ssa_builder.h"
#include "ptx-parser/translate/stack.h"

namespace ptx2cpu::ptx {

class ParamStorage;

// An address with the space its instruction names.
struct Place {
  ir::ValueId address;
  ir::Space space = ir::Space::kGeneric;
};

class Emitter : public SsaBuilder {
 public:
  Emitter(ModuleContext& context, const ast::Function& source, ir::Function& function);
  ~Emitter();

  // -- operands, by their number in the form --
  // In the IR type of the operand's PTX type, or in `type`; of a wider register, its low bits.
  ir::ValueId Read(size_t operand) { return Read(operand, WholeType(OperandType(operand))); }
  ir::ValueId Read(size_t operand, ir::Type type) { return ReadOperand(Operand(operand), type); }
  // Each element of a packed type (a list of one for scalars), or each component of a vector operand.
  std::vector<ir::ValueId> ReadElements(size_t operand);
  std::vector<ir::ValueId> ReadVector(size_t operand, ir::Type type);
  // Writes; a wider register is extended by the operand type's sign.
  void Write(size_t operand, ir::ValueId value) {
    WriteOperand(Operand(operand), value, IsSigned(OperandType(operand)));
  }
  void WriteElements(size_t operand, std::vector<ir::ValueId> elements);
  void WriteVector(size_t operand, const std::vector<ir::ValueId>& values, bool sign);
  void WriteOperand(const ast::Operand& operand, ir::ValueId value, bool sign);
  ir::ValueId ReadOperand(const ast::Operand& operand, ir::Type type);
  // For untyped moves: the type the operand's register is kept in, if it has `bits` bits, else an integer.
  ir::Type StoredType(const ast::Operand& operand, int bits) const;
  // [a] or an address in mov or cvta. `space` is the opcode's.
  Place Address(size_t operand, ir::Space space);
  Place WritableAddress(size_t operand, ir::Space space);  // the same; an error in read-only spaces
  ir::ValueId SymbolAddress(const ast::Operand& operand);

  // -- contraction --
  std::vector<Unrounded> unrounded;  // of the function so far
  // A product, sum or difference of floats; the text decides whether it may be contracted.
  ir::ValueId MayContract(ir::ValueId value);

  ModuleContext& context;
  std::unique_ptr<ParamStorage> params;
  Stack stack{*this};

  ir::ValueId ReadCarry() { return ReadVariable(carry_); }
  void WriteCarry(ir::ValueId carry) { WriteVariable(carry_, carry); }
  void DeclareRegisters(const std::vector<ir::Type>& types);
  // Index in Function::locals of a .local or .param variable kept in memory.
  uint32_t LocalIndex(uint32_t variable);

 private:
  // What an operand can have besides its symbol. Each way of reading one names those that it takes; any other
  // is an error, so that nothing of a text goes unused.
  enum Part : unsigned { kOffset = 1, kNegation = 2, kComponent = 4 };
  bool HasOnly(const ast::Operand& operand, unsigned parts);
  bool IsWholeRegister(const ast::Operand& operand) const;
  bool CheckAddressBits(ir::Space space, int bits);
  ir::ValueId AddressRegister(const ast::Operand& operand);
  ir::ValueId ReadSymbol(const ast::Operand& operand, ir::Type type);
  ir::ValueId ReadRegister(const ast::Operand& operand, ir::Type type);
  ir::ValueId ReadImmediate(const ast::Operand& operand, ir::Type type);
  ir::ValueId ReadSpecial(const ast::Operand& operand, ir::Type type);
  ir::ValueId ReadPacked(const ast::Operand& operand, ir::Type type);
  ir::ValueId Fit(ir::ValueId value, ir::Type type);

  Ssa::Variable carry_ = 0;
  std::unordered_map<uint32_t, uint32_t> locals_;  // by variable: index in Function::locals
};

}  // namespace ptx2cpu::ptx
