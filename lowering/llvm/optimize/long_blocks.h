// Code generation's time grows with the square of a block's length, and with that of the number of a value's
// uses. These passes bound both. Internal to this folder.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Pass.h>
#include <llvm/Target/TargetMachine.h>

namespace ptx2cpu::lowering {

// The numbers of the function of a module that has the most of each.
struct LoopNumbers {
  size_t loops = 0;
  size_t depth = 0;  // of the deepest nest
  size_t blocks = 0;
  bool AreDeep() const;
  bool AreMany() const;
};
LoopNumbers NumbersOfLoops(llvm::Module& module);
LoopNumbers NumbersOfLoops(llvm::Function& function);  // it has a body

// In front of the loop vectoriser, whose model of cost walks over all instructions of a body for each of
// them: loops with large bodies are left as they are.
class KeepLargeLoops : public llvm::PassInfoMixin<KeepLargeLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// In front of the passes that make values of variables, which look for a variable's first access in a block
// from its start on, for each variable: divides blocks of thousands of instructions, which are merged again.
class DivideHugeBlocks : public llvm::PassInfoMixin<DivideHugeBlocks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// A pass of code generation, after the last that merges blocks: divides blocks of more than some hundred
// instructions. In each piece but the first, values with many uses in the block are read through a copy, so
// that no register has many uses: selection, scheduling and two-address code walk over those of a register.
// The caller owns it.
llvm::FunctionPass* CreateSplitLongBlocks(const llvm::TargetMachine& machine);

// A pass of code generation ahead of the last scheduler, when pieces of blocks are one block again: it
// compares each access of memory with the others, and each instruction that writes flags with those that do.
// Divides blocks again; what places blocks makes one of them. The caller owns it.
llvm::FunctionPass* CreateSplitLongMachineBlocks();

// Whether LLVM's CodeGenPrepare would take time with the square of the module: for each unsigned compare it
// walks over the uses of the compared value, and for each change of the graph over the blocks.
bool PreparesSlowly(const llvm::Module& module);

// Whether a block has so many edges that register allocation would take time with their square.
bool HasHugeTable(const llvm::Module& module);

// Whether placing blocks would take time with the square of the module: each of a block's edges is compared
// with the others.
bool PlacesSlowly(const llvm::Module& module);

}  // namespace ptx2cpu::lowering
