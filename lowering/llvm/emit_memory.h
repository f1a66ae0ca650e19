// What loads, stores and atomics share.
#pragma once

#include "lowering/llvm/function_emitter.h"

namespace ptx2cpu::lowering {

// The C++ order of a strong access; weak, volatile and relaxed are Monotonic.
llvm::AtomicOrdering OrderingOf(ir::MemoryOrder order);

// Does a generic address lie in the block's shared window?
llvm::Value* InShared(Site& s, llvm::Value* address);

}  // namespace ptx2cpu::lowering
