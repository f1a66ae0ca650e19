// In masks of several conditions, conditions that are the same in all lanes are combined as bits, and
// conditions that do not change in a loop are combined before it.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// The edges of a tile, as kernels test them in each row:
//
//   splat(y < 1) | (x < 1) | splat(y > 14) | (x > 14)   ->   splat(y < 1 | y > 14) | ((x < 1) | (x > 14))
//
// The second part is one value for all rows. LLVM keeps the order of the source; and of bits that are
// combined before they are in all lanes it makes vectors.
class RegroupMasks : public llvm::PassInfoMixin<RegroupMasks> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
