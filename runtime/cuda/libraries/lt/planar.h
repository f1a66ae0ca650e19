// Complex matrices whose real and imaginary parts are planes of their own, of 16-bit floats.
#pragma once

#include "runtime/cuda/libraries/lt/matmul.h"

namespace ptx2cpu::cublaslt {

bool IsPlanar(const Matmul& call);
// As CheckMatmul.
cuda::cublasStatus_t CheckPlanar(const Matmul& call);
void RunPlanar(const Matmul& call, const Scalars& scalars, const void* a, const void* b, const void* c,
               void* d);

}  // namespace ptx2cpu::cublaslt
