// Accesses under known masks become plain accesses of fewer lanes.
//
// clang-format off
//   %v = masked.load %p, <1 1 1 1 0 0 0 0>      ->   %four = load <4 x i32> %p;  %v = shufflevector %four, 0 1 2 3 ..
//   masked.store %w, %p, <1 1 1 1 0 0 0 0>      ->   store <4 x i32> (shufflevector %w, 0 1 2 3), %p
// clang-format on
//
// The last steps of a tree in shared memory have such masks. Processors do not forward a store under a mask
// to the next load, and on some of them such a store takes dozens of micro-operations; LLVM, too, knows the
// value of a plain load.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

class NarrowKnownMasks : public llvm::PassInfoMixin<NarrowKnownMasks> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
