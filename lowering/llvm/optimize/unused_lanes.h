// Makes unused lanes of shuffles poison, for vectors of which few lanes are used.
//
//   %s = shufflevector %v, 8 9 .. 15 ..     ->   %s = shufflevector %v, 8 9 .. 15 poison ..
//   %t = add %v, %s                              %t = add %v, %s
//   %x = extractelement (.. %t ..), 0            %x = extractelement (.. %t ..), 0
//
// In a tree of shuffles, each step's value has two uses. LLVM's own simplification of lanes that are not
// demanded follows values with one use, and would compute whole vectors for one lane's sum.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

class DropUnusedLanes : public llvm::PassInfoMixin<DropUnusedLanes> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
