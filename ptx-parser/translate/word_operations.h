// Operations on words of 32 bits, for rows that compute with the bits of registers.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx {

inline ir::ValueId Number(Emitter& e, uint64_t value) { return e.Const(ir::Type::kI32, value); }
inline ir::ValueId WordOperation(Emitter& e, ir::Opcode op, ir::ValueId a, uint64_t b) {
  return e.b.Binary(op, ir::Type::kI32, a, Number(e, b));
}
inline ir::ValueId And(Emitter& e, ir::ValueId a, uint64_t mask) {
  return WordOperation(e, ir::Opcode::kAnd, a, mask);
}
inline ir::ValueId Left(Emitter& e, ir::ValueId a, uint64_t by) {
  return WordOperation(e, ir::Opcode::kShl, a, by);
}
inline ir::ValueId Right(Emitter& e, ir::ValueId a, uint64_t by) {
  return WordOperation(e, ir::Opcode::kShrU, a, by);
}

}  // namespace ptx2cpu::ptx
