// Initial bytes and relocations of module variables.
#pragma once

#include "ptx-parser/translate/module_context.h"

namespace ptx2cpu::ptx {

// Fills in initial, relocations (and size, where the first dimension is []) of an IR variable. Functions that
// it names become part of the translation, and so do variables if it is used itself.
Status FillInitializer(Translation& translation, uint32_t ir_variable);

}  // namespace ptx2cpu::ptx
