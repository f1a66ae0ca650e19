#include "cudart_api.h"
#include "runtime/cuda/cudart/registration.h"
#include "runtime/cuda/cudart/symbol.h"

namespace ptx2cpu::cudart {

cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol) {
  if (devPtr == nullptr) return cudaErrorInvalidValue;
  size_t size = 0;
  return SymbolAddress(symbol, *devPtr, size);
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  if (size == nullptr) return cudaErrorInvalidValue;
  void* address = nullptr;
  return SymbolAddress(symbol, address, *size);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset,
                               cudaMemcpyKind kind) {
  void* to = nullptr;
  MemoryTypes types;
  if (const cudaError_t error = ToSymbolTypes(kind, types)) return error;
  if (const cudaError_t error = SymbolRange(symbol, offset, count, to)) return error;
  return cudaMemcpy(to, src, count, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  void* to = nullptr;
  MemoryTypes types;
  if (const cudaError_t error = ToSymbolTypes(kind, types)) return error;
  if (const cudaError_t error = SymbolRange(symbol, offset, count, to)) return error;
  return cudaMemcpyAsync(to, src, count, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset,
                                 cudaMemcpyKind kind) {
  void* from = nullptr;
  MemoryTypes types;
  if (const cudaError_t error = FromSymbolTypes(kind, types)) return error;
  if (const cudaError_t error = SymbolRange(symbol, offset, count, from)) return error;
  return cudaMemcpy(dst, from, count, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  void* from = nullptr;
  MemoryTypes types;
  if (const cudaError_t error = FromSymbolTypes(kind, types)) return error;
  if (const cudaError_t error = SymbolRange(symbol, offset, count, from)) return error;
  return cudaMemcpyAsync(dst, from, count, kind, stream);
}

}  // namespace ptx2cpu::cudart
