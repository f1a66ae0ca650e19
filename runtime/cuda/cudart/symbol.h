// __device__, __constant__ and __managed__ variables, named by the address of their host shadow.
#pragma once

#include "runtime/cuda/cudart/copy.h"

namespace ptx2cpu::cudart {

// `count` bytes at `offset` of the symbol's storage. cudaErrorInvalidSymbol, cudaErrorInvalidValue (beyond
// its end).
cuda::cudaError_t SymbolRange(const void* symbol, size_t offset, size_t count, void*& address);
// Checks that the copy kind fits. cudaErrorInvalidMemcpyDirection.
cuda::cudaError_t ToSymbolTypes(cuda::cudaMemcpyKind kind, MemoryTypes& types);
cuda::cudaError_t FromSymbolTypes(cuda::cudaMemcpyKind kind, MemoryTypes& types);

}  // namespace ptx2cpu::cudart
