// Translates one function body: blocks, guards, positions; the rows' functions translate instructions.
#pragma once

#include "ptx-parser/translate/module_context.h"
#include "ptx-parser/translate/translate.h"

namespace ptx2cpu::ptx {

// `number` is the function's index in the syntax tree; a function without a body becomes a declaration.
Result<ir::Function> TranslateFunction(ModuleContext& context, uint32_t number,
                                       const TranslateOptions& options);

}  // namespace ptx2cpu::ptx
