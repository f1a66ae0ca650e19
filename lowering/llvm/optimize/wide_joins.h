// Global value numbering looks, for each branch that it decides, at all edges into the blocks that the dead
// ones led to. Each fault of a warp's code leads to the end of its turn: there, that is the square of the
// number of faults. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// In front of global value numbering: gives blocks with hundreds of edges a block for each few of them, in
// the order of the code. simplifycfg, which runs after it, merges them again.
class DivideWideJoins : public llvm::PassInfoMixin<DivideWideJoins> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
