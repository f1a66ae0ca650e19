// The bitcode of runtime/warp and runtime/math that this library contains, by target.
#pragma once

#include <llvm/IR/Module.h>

#include "ir/result.h"
#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

// Links what the module uses into it, to be inlined, and sets the target's features on every function.
Status LinkLibraries(llvm::Module& module, const Target& target);

}  // namespace ptx2cpu::lowering
