// The versions and names of status that cuBLAS and cuBLASLt share.
#pragma once

#include "runtime/cuda/abi/cublas_types.h"

namespace ptx2cpu::cublas {

const char* StatusName(cuda::cublasStatus_t status);
const char* StatusText(cuda::cublasStatus_t status);

// The last release of the major version in this copy's soname.
struct Release {
  int major, minor, patch;
};
Release ThisRelease();

}  // namespace ptx2cpu::cublas
