#include "runtime/cuda/libraries/blas/call.h"

namespace ptx2cpu::cublas {

cublasStatus_t FromDriver(CUresult result) {
  if (result == CUDA_SUCCESS) [[likely]]
    return CUBLAS_STATUS_SUCCESS;
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace ptx2cpu::cublas
