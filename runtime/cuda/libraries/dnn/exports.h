// The header that the generated exports of libcudnn.so include.
#pragma once

#include "runtime/cuda/abi/cudnn_backend_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::cudnn {
const char* cudnnGetErrorString(cuda::cudnnStatus_t status);
}

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::cudnnStatus_t> {
  static std::string Text(cuda::cudnnStatus_t result) { return cudnn::cudnnGetErrorString(result); }
  static cuda::cudnnStatus_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::CUDNN_STATUS_ALLOC_FAILED
                                              : cuda::CUDNN_STATUS_INTERNAL_ERROR;
  }
  static void Note(cuda::cudnnStatus_t) {}
};
