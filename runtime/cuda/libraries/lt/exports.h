// The header that the generated exports of libcublasLt.so include.
#pragma once

#include "runtime/cuda/abi/cublaslt_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::cublaslt {
const char* cublasLtGetStatusName(cuda::cublasStatus_t status);
}

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::cublasStatus_t> {
  static std::string Text(cuda::cublasStatus_t result) { return cublaslt::cublasLtGetStatusName(result); }
  static cuda::cublasStatus_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::CUBLAS_STATUS_ALLOC_FAILED
                                              : cuda::CUBLAS_STATUS_INTERNAL_ERROR;
  }
  static void Note(cuda::cublasStatus_t) {}
};
