// Computes the sums of several vectors, each a scalar, in fewer operations. Internal to this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Trees over the lanes of vectors, of each of which one element is left:
//
//   a += a[16..]; a += a[8..]; ...; a += a[1]; b += b[16..]; ...; b += b[1]; {a[0], b[0]}
//   ->   ...; c = {a[0..7], b[0..7]} + {a[8..15], b[8..15]}; ...; {c[0], c[1]}
//
// Such are the sums of a block's warps. From where a tree's level fills half of a register on, two share one.
// Each lane's operations and their order remain.
class JoinTrees : public llvm::PassInfoMixin<JoinTrees> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
