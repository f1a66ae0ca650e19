// What one thread stores and accesses again stays in order where LLVM makes vectors of threads. Internal to
// this folder.
#pragma once

#include <llvm/IR/PassManager.h>

namespace ptx2cpu::lowering {

// Turns of a loop over threads are declared not to depend on each other; what one turn does has its order:
//
//   p[4 * i] = a ; b = *q ; p[4 * i + 1] = c        q may be p + 4 * i
//
// The vectorizer joins accesses side by side, stores where the last one is, loads where the first one is. In
// a loop that is declared parallel it looks for no dependence between them and what they pass, within a turn
// either. Such a loop loses the declaration: the vectorizer then tests addresses, or leaves the loop as it
// is. So it does with loops of more accesses than are compared.
class KeepOrderOfTurns : public llvm::PassInfoMixin<KeepOrderOfTurns> {
 public:
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace ptx2cpu::lowering
