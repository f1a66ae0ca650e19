// What the handlers of integers share (integer.cpp, bits.cpp).
#pragma once

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

// The operation on zero-extended operands; the result is cut to the type's width by Return.
template <typename Operation>
Status Binary(Step& s, Operation operation) {
  s.Return(operation(s.Operand(0), s.Operand(1), s.Width()));
  return {};
}

inline bool SignBit(Bits128 value, int width) { return ((value >> (width - 1)) & 1) != 0; }

}  // namespace ptx2cpu::ir::interpret
