#include "runtime/cuda/cudart/symbol.h"

#include "cudart_api.h"
#include "runtime/cuda/cudart/registration.h"

namespace ptx2cpu::cudart {

cudaError_t SymbolRange(const void* symbol, size_t offset, size_t count, void*& address) {
  size_t size = 0;
  if (const cudaError_t error = SymbolAddress(symbol, address, size)) return error;
  if (offset > size || count > size - offset) return cudaErrorInvalidValue;
  address = static_cast<std::byte*>(address) + offset;
  return cudaSuccess;
}

cudaError_t ToSymbolTypes(cudaMemcpyKind kind, MemoryTypes& types) {
  if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost) return cudaErrorInvalidMemcpyDirection;
  return TypesOf(kind, types);
}

cudaError_t FromSymbolTypes(cudaMemcpyKind kind, MemoryTypes& types) {
  if (kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice) return cudaErrorInvalidMemcpyDirection;
  return TypesOf(kind, types);
}

}  // namespace ptx2cpu::cudart
