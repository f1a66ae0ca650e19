// Collapsed IR -> LLVM IR: one kernel with the functions it calls. See function_emitter.h for how levels
// become loops.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "ir/function.h"
#include "ir/result.h"
#include "lowering/llvm/kernel/emit_options.h"
#include "lowering/llvm/kernel/kernel_layout.h"
#include "lowering/llvm/output/target.h"

namespace ptx2cpu::lowering {

enum class Storage : uint8_t {
  kDefine,    // module variables are defined in the module
  kExternal,  // they are declared: a JIT owns them
};

struct EmitOptions {
  std::string kernel = {};  // empty: the only Collapsed kernel
  Target target;
  uint32_t lane_width = 0;  // lanes per step of a warp's lane loops: 1, 32, or 0 for what suits the target
  ThreadIds thread_ids = ThreadIds::kBoth;
  Storage storage = Storage::kDefine;
  bool debug_info = true;
  AlignmentChecks alignment = AlignmentChecks::kNoted;
};

struct EmittedKernel {
  std::unique_ptr<llvm::Module> module;  // defines EntryName(kernel), libraries linked in
  KernelLayout layout;
};
Result<EmittedKernel> Emit(llvm::LLVMContext& context, const ir::Module& module, const EmitOptions& options);

}  // namespace ptx2cpu::lowering
