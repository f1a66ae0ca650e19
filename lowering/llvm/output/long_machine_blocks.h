// Pieces of long blocks (long_blocks.h) are one block again once registers are given out. Internal to this
// folder.
#pragma once

#include <llvm/Pass.h>

namespace ptx2cpu::lowering {

// A pass of code generation ahead of the last scheduler, which takes time with the square of a block's
// length: it compares each access of memory with the others, and each instruction that writes flags with
// those that do. Divides blocks again; what places blocks makes one of them. The caller owns it.
llvm::FunctionPass* CreateSplitLongMachineBlocks();

}  // namespace ptx2cpu::lowering
