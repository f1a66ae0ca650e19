// Memory of contexts: allocated from the heap, listed in Allocations, freed with its context.
#pragma once

#include <cstddef>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/memory/allocations.h"

namespace ptx2cpu::driver {

class Context;

// OUT_OF_MEMORY or success.
cuda::CUresult AllocateMemory(Context& context, RangeKind kind, size_t bytes, unsigned flags,
                              std::byte** made);
// Memory that AllocateMemory made; a __managed__ variable is managed memory too, but its module owns it.
bool FromHeap(const Range& range);
// Frees memory that AllocateMemory made and Allocations no longer lists.
void ReleaseMemory(const Range& range);
// The answer to a call that frees what it cannot: INVALID_VALUE, and a finding where memory is checked.
cuda::CUresult RefuseFree(const char* function, uintptr_t address);
// Waits for all work that could still use memory of this range.
cuda::CUresult AwaitUsers(Context& current, const Range& range);
// The context whose streams and error matter when memory of `range` is freed: the thread's, or if it has
// none, the one that made the memory. One address space identifies the owner, so programs may free after they
// left their context.
cuda::CUresult ContextToFree(const Range* range, Context*& context);
// Lets the context free its ranges in Allocations when it ends. Called after ranges of a context are
// inserted.
void ReleaseAtEnd(Context& context);

}  // namespace ptx2cpu::driver
