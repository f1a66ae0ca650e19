// Rows of neighbouring blocks that run as one block (runtime/abi/joined_blocks.h).
#pragma once

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// Which of PTX2CPU_KERNEL_JOINS_BLOCKS and PTX2CPU_KERNEL_JOINS_LONG_ROWS the kernel's code may have.
uint32_t FlagsOfJoinedBlocks(const ir::Function& kernel);

// Threads of a row, where several blocks run as one of all their rows together; 0 where it is not known. Rows
// are a multiple of the kernel's own.
unsigned LongestRow(const FunctionEmitter& e);

}  // namespace ptx2cpu::lowering
