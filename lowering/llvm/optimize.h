// LLVM's pipeline over one emitted module, and machine code from it. Internal to this folder.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "ir/result.h"

namespace ptx2cpu::lowering {

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, int level);  // 0..3
Result<std::string> GenerateCode(llvm::Module& module, llvm::TargetMachine& machine,
                                 llvm::CodeGenFileType type);

}  // namespace ptx2cpu::lowering
