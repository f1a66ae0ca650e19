// The header that the generated exports of libcublas.so include.
#pragma once

#include "runtime/cuda/abi/cublas_types.h"
#include "runtime/cuda/driver/core/call.h"

// A std::complex is returned like C's structure of two numbers.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::cublas {
const char* cublasGetStatusName(cuda::cublasStatus_t status);
}

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::cublasStatus_t> {
  static std::string Text(cuda::cublasStatus_t result) { return cublas::cublasGetStatusName(result); }
  static cuda::cublasStatus_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::CUBLAS_STATUS_ALLOC_FAILED
                                              : cuda::CUBLAS_STATUS_INTERNAL_ERROR;
  }
  static void Note(cuda::cublasStatus_t) {}
};
