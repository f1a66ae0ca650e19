// LLVM's searches for the conditions ahead of a loop, and along a value through a function, take time with
// the square of the number of loops or blocks in a row. Functions with many of them are cut into pieces.
// Internal to this folder.
#pragma once

#include <llvm/IR/Module.h>

namespace ptx2cpu::lowering {

// Makes functions of parts of those functions that have many loops or blocks (LoopNumbers::AreMany), each
// with some of those that follow each other, at any depth.
void SplitLongFunctions(llvm::Module& module);

}  // namespace ptx2cpu::lowering
