// Joins stores of scalars side by side. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// What a block stores element by element into neighbouring places, out of vectors:
//
//   sums[0] = x[0]; ...; sums[1] = y[0]; ...; sums[7] = z[0]   ->   ...; sums[0..7] = {x[0], y[0], ..., z[0]}
//
// Such are the sums of a block's warps, which the first warp then loads as a vector. Processors forward a
// load only out of a store that holds all of it; else it waits until the stores have reached the cache.
class JoinStores : public llvm::PassInfoMixin<JoinStores> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
