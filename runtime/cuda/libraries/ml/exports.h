// The header that the generated exports of libnvidia-ml.so include.
#pragma once

#include "runtime/cuda/abi/nvml_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::nvml {
const char* nvmlErrorString(cuda::nvmlReturn_t result);
}

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::nvmlReturn_t> {
  static std::string Text(cuda::nvmlReturn_t result) { return nvml::nvmlErrorString(result); }
  static cuda::nvmlReturn_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kMemory ? cuda::NVML_ERROR_MEMORY : cuda::NVML_ERROR_UNKNOWN;
  }
  static void Note(cuda::nvmlReturn_t) {}
};
