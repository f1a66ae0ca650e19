// Where .param variables are stored.
//
// A kernel's parameters are in its buffer (ParamBase + offset). In a device function and in a call sequence
// ({ .param .b32 p; st.param [p], %r; call f, (p); }), a scalar that is only loaded and stored completely is
// an SSA variable; every other parameter is memory of the thread (Function::locals), addressed in the local
// window.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx {

class ParamStorage {
 public:
  // Reads the function's header and body, fills in Function::params and returns, declares SSA variables.
  ParamStorage(Emitter& e, ir::BlockId entry);
  // Writes the first values of parameters; at the start of the entry block.
  void EmitEntry(Emitter& e);

  // The SSA variable of a scalar that has no memory.
  std::optional<Ssa::Variable> InSsa(Emitter& e, uint32_t variable);
  ir::Space SpaceOf(uint32_t variable) const;
  ir::ValueId Address(Emitter& e, uint32_t variable);
  // The complete value of a scalar parameter, wherever it is stored.
  ir::ValueId ReadScalar(Emitter& e, uint32_t variable);
  void WriteScalar(Emitter& e, uint32_t variable, ir::ValueId value);
  // Operands of ret.
  std::vector<ir::ValueId> ReturnValues(Emitter& e);

 private:
  enum class Home : uint8_t { kKernelBuffer, kSsa, kLocal, kCaller };
  struct Storage {
    Home home = Home::kSsa;
    uint32_t offset = 0;         // kKernelBuffer
    Ssa::Variable variable = 0;  // kSsa
    ir::ValueId value;           // entry parameter: first value, or address in the caller's frame (kCaller)
  };

  void ReadKernelHeader(Emitter& e);
  void ReadFunctionHeader(Emitter& e, ir::BlockId entry);
  void FindUses(Emitter& e);
  void NoteUse(const Emitter& e, const ast::Instruction& instruction, const ast::Operand& operand);
  Storage& Get(Emitter& e, uint32_t variable);

  const ast::Module& ast_;
  std::unordered_map<uint32_t, Storage> storage_;
  std::map<Ssa::Variable, ir::ValueId> elements_;  // first values of vector registers that are parameters
  std::unordered_map<uint32_t, bool> needs_memory_;
};

}  // namespace ptx2cpu::ptx
