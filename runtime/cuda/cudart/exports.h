// The header that the generated exports of libcudart.so include.
#pragma once

#include "runtime/cuda/abi/runtime_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::cudart {
const char* cudaGetErrorName(cuda::cudaError_t error);
// Keeps the error for cudaGetLastError; cudaErrorNotReady is no error.
void NoteError(cuda::cudaError_t error);
}  // namespace ptx2cpu::cudart

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::cudaError_t> {
  static std::string Text(cuda::cudaError_t result) { return cudart::cudaGetErrorName(result); }
  static cuda::cudaError_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory   ? cuda::cudaErrorMemoryAllocation
           : kind == rt::Failure::Kind::kSystem ? cuda::cudaErrorOperatingSystem
                                                : cuda::cudaErrorUnknown;
  }
  static void Note(cuda::cudaError_t result) {
    if (result != cuda::cudaSuccess) cudart::NoteError(result);
  }
};
