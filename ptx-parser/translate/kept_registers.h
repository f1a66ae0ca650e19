// Registers as local variables, for debuggers: after each instruction the registers that it has written are
// stored in variables with their names.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx {

class KeptRegisters {
 public:
  explicit KeptRegisters(Emitter& emitter) : e_(emitter) {}

  // Keeps the registers that the emitter's current instruction writes, at the current place.
  void KeepWritten();
  // Whether it may be a store of this class; st.volatile.local of the text is like them.
  static bool IsKeeping(const ir::Inst& inst) {
    return inst.op == ir::Opcode::kStore && inst.attrs.space == ir::Space::kLocal &&
           inst.attrs.order == ir::MemoryOrder::kVolatile;
  }

 private:
  void Keep(const ast::Operand& operand);
  void Keep(uint32_t number);
  const ast::RegisterRange& RangeOf(uint32_t number) const;
  std::string NameOf(uint32_t number) const;

  Emitter& e_;
  std::unordered_map<uint32_t, uint32_t> locals_;  // by number of the register: index in Function::locals
};

}  // namespace ptx2cpu::ptx
