// Memory that graphs allocate: each allocation is freed once, by a node of its graph or outside, and a graph
// that leaves memory allocated can be launched again only after that is freed.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/memory/pool.h"

namespace ptx2cpu::driver {

// A node allocates it; the address is known to be graph memory as long as the returned object lives.
std::shared_ptr<const void> NoteGraphAllocation(cuda::CUdeviceptr address);
// A node frees it. INVALID_VALUE: no node allocates it, or another one frees it.
cuda::CUresult NoteGraphFree(cuda::CUdeviceptr address);
// Another node allocates it after the one that frees it.
void NoteGraphReuse(cuda::CUdeviceptr address);
// A node of a launch frees what another graph left allocated.
void EndGraphMemory(cuda::CUdeviceptr address);
// A launch begins that leaves these allocated. INVALID_VALUE: some of them still are, from the launch before.
cuda::CUresult BeginGraphMemory(const std::vector<cuda::CUdeviceptr>& left, bool free_automatically);
// cuMemFree and cuMemFreeAsync of graph memory: other launches may use the memory at the address.
// INVALID_VALUE: it is not allocated now.
cuda::CUresult FreeGraphMemory(cuda::CUdeviceptr address);

// Memory of a graph's allocation node: at its address from the making of the node until the last graph that
// holds the returned object is gone. A free node or a free outside the graph costs nothing.
// Null: no memory.
std::shared_ptr<const void> AllocateForGraph(const cuda::CUmemPoolProps& properties, size_t bytes,
                                             cuda::CUdeviceptr* made);
// The pool of such memory; no program has a handle of it.
MemoryPool& GraphPool(int device);

}  // namespace ptx2cpu::driver
