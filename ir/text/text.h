// Textual IR that round-trips: Parse(Print(m)) prints the same text again, PTX lines and attributes kept.
#pragma once

#include <string>
#include <string_view>

#include "ir/function.h"

namespace ptx2cpu::ir {

std::string Print(const Module& module);
std::string Print(const Module& module, const Function& function);
std::string Print(const Function& function, const Inst& inst);  // one line without newline
Result<Module> Parse(std::string_view text, std::string_view name);

}  // namespace ptx2cpu::ir
