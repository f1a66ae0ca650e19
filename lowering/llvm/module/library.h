// The bitcode of runtime/warp and runtime/math that lies in this library, by target.
#pragma once

#include <llvm/IR/Module.h>

#include "ir/result.h"
#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

// Links what the module uses into it, to be inlined, and gives every function the target's features.
Status LinkLibraries(llvm::Module& module, const Target& target);

}  // namespace ptx2cpu::lowering
