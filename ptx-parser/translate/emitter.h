// What a row's function uses of the translation: the matched instruction, its operands as IR values, and a
// builder.
//
// Reading an operand never fails halfway: the first problem is kept in `error` and the translator stops after
// the row.
#pragma once

#include <optional>
#include <vector>

#include "ir/build.h"
#include "ptx-parser/match/match.h"
#include "ptx-parser/translate/contract.h"
#include "ptx-parser/translate/module_context.h"
#include "ptx-parser/translate/ssa.h"

namespace ptx2cpu::ptx {

class ParamStorage;

// An address with the space its instruction names.
struct Place {
  ir::ValueId address;
  ir::Space space = ir::Space::kGeneric;
};

class Emitter {
 public:
  Emitter(ModuleContext& context, const ast::Function& source, ir::Function& function);
  ~Emitter();

  // -- the current instruction --
  const ast::Instruction* instruction = nullptr;
  Match match = {};
  const Modifiers& mods() const { return *match.modifiers; }
  bool Has(Word word) const { return mods().Has(word); }
  PtxType type() const { return mods().last(); }    // of sources
  PtxType dtype() const { return mods().first(); }  // of destinations

  // -- operands, by their number in the form --
  bool Present(size_t operand) const { return match.slots[operand] != Match::kAbsent; }
  const ast::Operand& Operand(size_t operand) const;
  PtxType OperandType(size_t operand) const { return TypeOf(match.form->operands[operand], mods()); }
  // In the IR type of the operand's PTX type, or in `type`; of a wider register, its low bits.
  ir::ValueId Read(size_t operand) { return Read(operand, WholeType(OperandType(operand))); }
  ir::ValueId Read(size_t operand, ir::Type type) { return ReadOperand(Operand(operand), type); }
  // Each element of a packed type (a list of one for scalars), or each component of a vector operand.
  std::vector<ir::ValueId> ReadElements(size_t operand);
  std::vector<ir::ValueId> ReadVector(size_t operand, ir::Type type);
  std::optional<int64_t> Immediate(size_t operand) const;
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
  bool AccessesParameters() const;  // whether the instruction names the .param space
  // [a] or an address in mov or cvta. `space` is the opcode's.
  Place Address(size_t operand, ir::Space space);
  Place WritableAddress(size_t operand, ir::Space space);  // the same; an error in read-only spaces
  ir::ValueId SymbolAddress(const ast::Operand& operand);

  // -- building --
  ir::Builder b;
  ir::ValueId Const(ir::Type type, uint64_t bits);
  ir::ValueId Offset(ir::ValueId address, int64_t offset);  // address + offset
  void SetBlock(ir::BlockId block);
  void AddEdges(ir::InstId terminator);  // reports every edge of a terminator to SSA
  ir::ValueId ReadCarry();
  void WriteCarry(ir::ValueId carry);
  // The stack of a function that has alloca or stacksave: declared at its entry (stack.cpp).
  void BeginStack();
  ir::ValueId StackBase();
  ir::ValueId ReadStackPointer() { return ReadVariable(stack_pointer_); }
  void WriteStackPointer(ir::ValueId address) { WriteVariable(stack_pointer_, address); }
  ir::Position Here() const { return b.at; }

  // -- guarded instructions: writes wait until the instruction is known to have happened --
  struct DelayedWrite {
    Ssa::Variable variable;
    ir::ValueId value;
  };
  bool delaying = false;
  std::vector<DelayedWrite> delayed;

  // -- contraction --
  uint32_t statement_block = 0;      // of the current instruction
  std::vector<Unrounded> unrounded;  // of the function so far
  // A product, sum or difference of floats; the text decides whether it may be contracted.
  ir::ValueId MayContract(ir::ValueId value);

  // -- errors --
  void Fail(ErrorCode code, std::string message, std::string hint = {});
  Status Unsupported(const std::string& what);
  std::optional<Error> error;

  ModuleContext& context;
  const ast::Module& ast;
  const ast::Function& source;
  ir::Function& f;
  Ssa ssa;
  std::unique_ptr<ParamStorage> params;

  ir::ValueId ReadVariable(Ssa::Variable variable);
  void WriteVariable(Ssa::Variable variable, ir::ValueId value);
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

  Ssa::Variable carry_ = 0, stack_pointer_ = 0;
  uint32_t stack_local_ = 0;                             // index in Function::locals
  std::unordered_map<uint64_t, ir::ValueId> constants_;  // of the current block
  std::unordered_map<uint32_t, uint32_t> locals_;
};

bool UsesStack(std::span<const Match> matches);  // has alloca, stacksave or stackrestore

}  // namespace ptx2cpu::ptx
