// Initial bytes and relocations of module variables.
#pragma once

#include "ptx-parser/translate/module_context.h"

namespace ptx2cpu::ptx {

// Fills in initial, relocations (and size, where the first dimension is []) of an IR variable. Symbols that an
// initializer names become part of the translation only if `required`; otherwise a function named by one that is
// not part of it leaves its bytes zero.
Status FillInitializer(Translation& translation, uint32_t ir_variable, bool required);

}  // namespace ptx2cpu::ptx
