// Functions of straight code on vectors: each operation on scalars becomes the same operation on vectors, so
// that the bits of each element are those of the scalar function.
#pragma once

#include <llvm/IR/Module.h>

#include "ir/result.h"

namespace ptx2cpu::lowering {

// A declaration; the body follows by DefineWidened, when that of `scalar` is known.
llvm::Function* DeclareWidened(llvm::Module& module, const llvm::Function& scalar, unsigned width);
// All that are declared.
Status DefineWidened(llvm::Module& module);

}  // namespace ptx2cpu::lowering
