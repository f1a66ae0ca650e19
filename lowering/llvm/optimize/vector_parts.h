// Turns integers that are parts of vectors into vectors. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Where a load reads part of what a vector store has stored, LLVM's value numbering takes the part out of one
// wide integer, of which code generation makes scalar code, word by word:
//
//   trunc (lshr (bitcast <256 x float> v to i8192), 1024) to i1024   ->   v[32..63]
class ExtractVectorParts : public llvm::PassInfoMixin<ExtractVectorParts> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
