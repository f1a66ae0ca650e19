// Collapsed IR -> LLVM IR: one kernel with the functions it calls. See loops.h for how levels
// become loops.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "ir/function.h"
#include "ir/result.h"
#include "lowering/llvm/module/module_emitter.h"

namespace ptx2cpu::lowering {

struct EmittedKernel {
  std::unique_ptr<llvm::Module> module;  // defines EntryName(kernel), libraries linked in
  KernelLayout layout;
};
Result<EmittedKernel> Emit(llvm::LLVMContext& context, const ir::Module& module, const EmitOptions& options);

}  // namespace ptx2cpu::lowering
