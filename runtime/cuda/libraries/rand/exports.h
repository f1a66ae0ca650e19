// The header that the generated exports of libcurand.so include.
#pragma once

#include "runtime/cuda/abi/curand_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::curandStatus_t> {
  static std::string Text(cuda::curandStatus_t result) { return std::to_string(static_cast<int>(result)); }
  static cuda::curandStatus_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::CURAND_STATUS_ALLOCATION_FAILED
                                              : cuda::CURAND_STATUS_INTERNAL_ERROR;
  }
  static void Note(cuda::curandStatus_t) {}
};
