// Finds how many vectors a module's loops keep at once. Internal to this folder.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace ptx2cpu::lowering {

// Registers of vectors: those that a block of a loop reads from outside the loop, and the most that it keeps
// besides.
struct VectorsKept {
  unsigned outside = 0, inside = 0;
};
VectorsKept VectorsKeptIn(const llvm::Loop& loop, const llvm::BasicBlock& block,
                          const llvm::TargetTransformInfo& target);

// Whether some innermost loop keeps more vectors at once than the machine has registers, and makes more
// operands that parts of vectors share than it has.
//
//   v = broadcast a[k]; x.lower += v * y.lower; x.upper += v * y.upper; for many k
//
// is the order in which vectors of several registers are selected. LLVM's machine scheduler takes all of a
// chain of operations first, x.lower, where there are no registers for more; each broadcast is then stored
// and loaded again.
bool SharesManyOperands(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace ptx2cpu::lowering
