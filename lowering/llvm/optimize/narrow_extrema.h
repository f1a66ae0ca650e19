// Minima and maxima of bytes that are kept in words become operations on bytes.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// PTX has no registers of bytes, so that networks of minima and maxima over images are computed in words:
//
//   min(zext x, zext y)   ->   zext min(x, y)
//
// four times as many lanes in a register. LLVM does so where nothing else uses an extended operand, which
// both of a pair's results do.
class NarrowExtrema : public llvm::PassInfoMixin<NarrowExtrema> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
