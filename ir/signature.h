// The letters of a row's signature (the head of opcodes.def).
#pragma once

#include "ir/function.h"

namespace ptx2cpu::ir {

// kVoid for 'X', any type: calls, for example, state their own.
Type LetterType(const Inst& inst, char letter);

}  // namespace ptx2cpu::ir
