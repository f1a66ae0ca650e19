// Code generation's time grows with the square of a block's length, and with that of the number of a value's
// uses. These passes bound both. Internal to this folder.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Pass.h>
#include <llvm/Target/TargetMachine.h>

namespace ptx2cpu::lowering {

// Loops of the module's deepest nest.
size_t DepthOfLoops(llvm::Module& module);

// In front of the loop vectoriser, whose model of cost walks over all instructions of a body for each of
// them: loops with large bodies are left as they are.
class KeepLargeLoops : public llvm::PassInfoMixin<KeepLargeLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// A pass of code generation, after the last that merges blocks: divides blocks of more than some hundred
// instructions. In each piece but the first, values with many uses in the block are read through a copy, so
// that no register has many uses: selection, scheduling and two-address code walk over those of a register.
// The caller owns it.
llvm::FunctionPass* CreateSplitLongBlocks(const llvm::TargetMachine& machine);

// Whether LLVM's CodeGenPrepare would take time with the square of the module: for each unsigned compare it
// walks over the uses of the compared value.
bool PreparesSlowly(const llvm::Module& module);

}  // namespace ptx2cpu::lowering
