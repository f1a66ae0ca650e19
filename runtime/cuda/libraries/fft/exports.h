// The header that the generated exports of libcufft.so include.
#pragma once

#include "runtime/cuda/abi/cufft_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::cufftResult> {
  static std::string Text(cuda::cufftResult result) { return std::to_string(static_cast<int>(result)); }
  static cuda::cufftResult Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::CUFFT_ALLOC_FAILED : cuda::CUFFT_INTERNAL_ERROR;
  }
  static void Note(cuda::cufftResult) {}
};
