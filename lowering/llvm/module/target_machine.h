// LLVM's view of a Target. Internal to this folder.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

Result<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target, int optimisation,
                                                                 bool for_jit);

}  // namespace ptx2cpu::lowering
