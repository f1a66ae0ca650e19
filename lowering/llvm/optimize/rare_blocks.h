// What only unlikely code reads is computed there.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Vectors that nothing but unlikely blocks needs: LLVM moves a value to where it is used if that is one
// block, and moves what does not change out of loops. Addresses of each lane, which gathers need where a
// sequence is none, would be kept in registers that loops lack.
class SinkIntoRareBlocks : public llvm::PassInfoMixin<SinkIntoRareBlocks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
