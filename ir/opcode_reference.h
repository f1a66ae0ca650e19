// The opcode reference for people, generated from opcodes.def.
#pragma once

#include <string>

namespace ptx2cpu::ir {

// Markdown: one row per opcode, in the order of the table, then the words of each attribute.
std::string RenderOpcodeReference();

}  // namespace ptx2cpu::ir
