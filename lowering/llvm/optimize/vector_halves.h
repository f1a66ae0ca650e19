// Joins permutations of the two halves of elements. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// A shuffle exchanges 32 bits, so that programs permute the halves of an element of 64 bits, one after the
// other:
//
//   {permute (high half of v), permute (low half of v)}   ->   permute v
class JoinVectorHalves : public llvm::PassInfoMixin<JoinVectorHalves> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
