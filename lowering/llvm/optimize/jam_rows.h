// Lets several rows of threads run a region together. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Loops over rows or steps of threads (kRowsMetadata, kStepsMetadata) whose body begins with a long chain of
// operations, such as the products of a row and a tile: two or four turns become one, instruction by
// instruction.
//
//   for y: s = slot[y]; s += a[y][0] * v0; s += a[y][1] * v1; ...; slot[y] = s
//   ->   for y step 2: s = slot[y]; t = slot[y + 1]; s += a[y][0] * v0; t += a[y + 1][0] * v0; ...
//
// A processor looks ahead as far as its window of waiting operations, which the chains of few turns fill.
// What several turns read, they read together. Threads of a region have no order, so their loads and stores
// may take any; modules with atomic operations stay as they are (kAtomicsMetadata).
class JamRows : public llvm::PassInfoMixin<JamRows> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
