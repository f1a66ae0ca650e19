// Names of the symbols that emitted code has. No LLVM type appears here.
#pragma once

#include <string>
#include <string_view>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// A PTX name as a C identifier.
std::string CName(std::string_view ptx_name);
// The symbol of a kernel's block function, or of its step function when it is resumable; a name of its own,
// because a kernel may be called memset.
std::string EntryName(const ir::Function& kernel);
// The name for a kernel whose code is another kernel's (ir::Function::entries), which resumes at level
// `resumes`.
std::string EntryName(const ir::Function& kernel, ir::Resumes resumes);

}  // namespace ptx2cpu::lowering
