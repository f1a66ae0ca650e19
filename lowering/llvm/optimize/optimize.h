// LLVM's pipeline over one emitted module, and machine code from it. Internal to lowering/llvm.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <atomic>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::lowering {

// The level of the target machine that generates code for a module which is to be optimised at `level`: less
// where the better code would take time with the square of the depth of loops, or of a block's edges.
int GenerationLevel(int level, llvm::Module& module);
// Names of our passes in the pipeline; code is right without any of them.
std::vector<std::string_view> OwnPasses();

struct Optimisation {
  int level = 3;               // 0..3; 2 and 3 have the same passes, and code generation differs
  std::string_view omit = {};  // those of OwnPasses that are left out (lowering/forms.h)
  // Once it is set, passes that may be left out are; then the module is of no use but valid.
  const std::atomic<bool>* stop = nullptr;
  std::set<std::string>* changed =
      nullptr;  // receives the names of those of OwnPasses that changed something
};
void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const Optimisation& options);
// Once `stop` is set, this fails soon, by an exception (InternalError) through LLVM: what it holds is lost,
// so only a process that ends should stop it.
Result<std::string> GenerateCode(llvm::Module& module, llvm::TargetMachine& machine,
                                 llvm::CodeGenFileType type, const std::atomic<bool>* stop = nullptr);

}  // namespace ptx2cpu::lowering
