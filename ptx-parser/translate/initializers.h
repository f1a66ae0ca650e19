// Initial bytes and relocations of module variables.
#pragma once

#include "ptx-parser/translate/module_context.h"

namespace ptx2cpu::ptx {

// Fills in initial, relocations (and size, where the first dimension is []) of a variable's IR twin. Symbols
// that an initializer names are required from the context only if `required`; otherwise a function named by
// one that is not part of the translation leaves its bytes zero.
Status FillInitializer(ModuleContext& context, uint32_t variable, bool required);

}  // namespace ptx2cpu::ptx
