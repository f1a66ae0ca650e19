// The header that the generated exports of libcusparse.so include.
#pragma once

#include "runtime/cuda/abi/cusparse_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::cusparse {
const char* cusparseGetErrorName(cuda::cusparseStatus_t status);
}

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::cusparseStatus_t> {
  static std::string Text(cuda::cusparseStatus_t result) { return cusparse::cusparseGetErrorName(result); }
  static cuda::cusparseStatus_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::CUSPARSE_STATUS_ALLOC_FAILED
                                              : cuda::CUSPARSE_STATUS_INTERNAL_ERROR;
  }
  static void Note(cuda::cusparseStatus_t) {}
};
