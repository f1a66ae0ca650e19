#pragma once

#include <llvm/Pass.h>

namespace ptx2cpu::lowering {

// For code generation: scalar evolution, which strength reduction asks about all values of a loop, keeps each
// value as the sum of all its terms, which takes time with the square of a long chain of sums. In long blocks
// a value of many terms becomes one that it knows nothing of, which costs no instruction.
llvm::FunctionPass* CreateCutLongSums();

}  // namespace ptx2cpu::lowering
