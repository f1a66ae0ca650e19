#pragma once

#include <llvm/IR/PassManager.h>
#include <llvm/Pass.h>

namespace ptx2cpu::lowering {

// In front of passes over loops: scalar evolution, which they ask about all values of a loop, keeps each
// value as the sum of all its terms, or as the extreme of all of them, which takes time with the square of a
// long chain. In long blocks a value of many terms becomes one that it knows nothing of, which costs no
// instruction.
class CutLongSums : public llvm::PassInfoMixin<CutLongSums> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// The same for code generation, whose strength reduction asks. The caller owns it.
llvm::FunctionPass* CreateCutLongSums();

}  // namespace ptx2cpu::lowering
