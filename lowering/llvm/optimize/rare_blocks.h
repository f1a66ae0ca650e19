// Values that only unlikely code reads are computed there.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Moves vectors that only unlikely blocks need into these. LLVM moves a value to its use only if one block
// uses it, and moves invariant values out of loops. So the addresses of lanes that gathers need where a
// guessed sequence fails would occupy registers that loops lack.
class SinkIntoRareBlocks : public llvm::PassInfoMixin<SinkIntoRareBlocks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
