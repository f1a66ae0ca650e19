// Whether kernels may run with x and y of threads and blocks exchanged (runtime/abi/swapped_axes.h).
#pragma once

#include "lowering/llvm/module/module_emitter.h"

namespace ptx2cpu::lowering {

// A width of 1 is what others are compared with. A debugger shows where each block and thread is.
bool MaySwapAxes(const EmitOptions& options);

}  // namespace ptx2cpu::lowering
