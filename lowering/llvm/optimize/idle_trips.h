// Ends loops whose remaining trips do nothing. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// A loop whose trips from some one on only count:
//
//   for w = 0; w < 8; ++w: if (w < bound) {...}   ->   for w = 0; w < min(8, bound); ++w: if (w < bound)
//   {...}
//
// Such are loops over warps of which the first one adds up what all have left. What remains of a single trip
// is no loop: LLVM sees which stores its loads read, and a processor fetches no branches that lead nowhere.
class EndIdleTrips : public llvm::PassInfoMixin<EndIdleTrips> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
