// The header that the generated exports of libcuda.so.1 include.
#pragma once

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::driver {
cuda::CUresult cuGetErrorName(cuda::CUresult error, const char** text);
}

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::CUresult> {
  static std::string Text(cuda::CUresult result) {
    const char* text = nullptr;
    driver::cuGetErrorName(result, &text);
    return text == nullptr ? std::to_string(static_cast<int>(result)) : text;
  }
  static cuda::CUresult Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory   ? cuda::CUDA_ERROR_OUT_OF_MEMORY
           : kind == rt::Failure::Kind::kSystem ? cuda::CUDA_ERROR_OPERATING_SYSTEM
                                                : cuda::CUDA_ERROR_UNKNOWN;
  }
  static void Note(cuda::CUresult) {}
};
