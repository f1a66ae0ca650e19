// For each branch that it decides, LLVM's global value numbering visits all edges into the successors of dead
// blocks. Each fault of a warp's code leads to the end of its turn, where this takes the square of the number
// of faults. So blocks with many predecessors are divided. Internal to this folder.
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
