// What loads, stores and atomics share.
#pragma once

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

// The C++ order of a strong access; weak, volatile and relaxed are Monotonic.
llvm::AtomicOrdering OrderingOf(ir::MemoryOrder order);

// The object after a change: runtime/abi/mbarrier.h.
llvm::Value* UpdateMbarrier(Site& s, llvm::Value* old, llvm::Value* change);

inline constexpr uint32_t kBulkAlign = 16;
// Faults if an address or a size is not a multiple of `align`.
void FaultUnlessBulk(Site& s, std::initializer_list<llvm::Value*> addresses,
                     std::initializer_list<llvm::Value*> sizes, uint64_t align);

// Whether a generic address lies in the block's shared window.
llvm::Value* InShared(Site& s, llvm::Value* address);
// Whether it lies in the window of another block of the cluster.
llvm::Value* InCluster(Site& s, llvm::Value* address);

// Emitted before an access, which is a fault unless the operand has this alignment.
void CheckAlignment(Site& s, const AlignedOperand& aligned);

}  // namespace ptx2cpu::lowering
