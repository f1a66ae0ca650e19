// Loops of LLVM whose turns are steps: the same code for other threads. Internal to these folders.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace ptx2cpu::lowering {

// The property that marks them, for the passes of output/.
inline constexpr const char* kStepsMetadata = "ptx2cpu.steps";
// Marks loops over rows of threads, or over threads one by one.
inline constexpr const char* kRowsMetadata = "ptx2cpu.rows";
// Marks a module that has atomic operations. Where no other worker sees the memory, they are a load and a
// store, between which accesses of other threads must not come.
inline constexpr const char* kAtomicsMetadata = "ptx2cpu.atomics";

// Marks the loop that FunctionBody::Loop has just made: the builder is where it ends.
void MarkSteps(llvm::IRBuilder<>& b);

}  // namespace ptx2cpu::lowering
