// The header that the generated exports of libnccl.so include.
#pragma once

#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/driver/core/call.h"

#ifndef PTX2CPU_EXPORT
#define PTX2CPU_EXPORT __attribute__((visibility("default")))
#endif

namespace ptx2cpu::nccl {
const char* ncclGetErrorString(cuda::ncclResult_t result);
}

template <>
struct ptx2cpu::api::ResultTraits<ptx2cpu::cuda::ncclResult_t> {
  static std::string Text(cuda::ncclResult_t result) { return nccl::ncclGetErrorString(result); }
  static cuda::ncclResult_t Of(rt::Failure::Kind kind) {
    return kind == rt::Failure::Kind::kInternal ? cuda::ncclInternalError : cuda::ncclSystemError;
  }
  static void Note(cuda::ncclResult_t) {}
};
