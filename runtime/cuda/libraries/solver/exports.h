// The header that the generated exports of libcusolver.so include.
#pragma once

#include "runtime/cuda/abi/cusolver_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::cusolverStatus_t> {
  static std::string Text(cuda::cusolverStatus_t result) { return std::to_string(static_cast<int>(result)); }
  static cuda::cusolverStatus_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::CUSOLVER_STATUS_ALLOC_FAILED
                                              : cuda::CUSOLVER_STATUS_INTERNAL_ERROR;
  }
  static void Note(cuda::cusolverStatus_t) {}
};
