// Rows of neighbouring blocks that run as one block (runtime/abi/joined_blocks.h).
#pragma once

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// The flags PTX2CPU_KERNEL_JOINS_BLOCKS and PTX2CPU_KERNEL_JOINS_LONG_ROWS that the kernel's code may have.
uint32_t FlagsOfJoinedBlocks(const ir::Function& kernel);

// The number of threads in a row where several blocks run as one with their rows joined; 0 where it is
// unknown. Rows are a multiple of the kernel's own.
unsigned LongestRow(const FunctionEmitter& e);

}  // namespace ptx2cpu::lowering
