// Chooses the loops that LLVM's unroller may repeat. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Leaves unrolling with a trip count known at run time only to short innermost loops. The unroller repeats a
// body until the processor's buffer of micro-operations is full, 512 on recent ones: half of the code, and of
// the time to generate it, were copies of loops that gain nothing by that.
class KeepLongLoops : public llvm::PassInfoMixin<KeepLongLoops> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// Leaves full unrolling of loops over steps (kStepsMetadata) to short ones too: their copies would differ in
// the numbers of their threads only. Where all copies together are short, they are made whatever LLVM takes
// their vectors to cost.
class KeepSteps : public llvm::PassInfoMixin<KeepSteps> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
