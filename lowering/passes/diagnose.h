// Errors of passes: legal PTX that this version does not translate.
#pragma once

#include <string>

#include "ir/function.h"
#include "ir/result.h"

namespace ptx2cpu::lowering {

// kUnsupported at a PTX line, with that line's text.
std::unexpected<Error> Unsupported(const ir::Module& module, ir::Position at, std::string message,
                                   std::string hint);

}  // namespace ptx2cpu::lowering
