#include "runtime/cuda/libraries/solver/call.h"

namespace ptx2cpu::cusolver {

cusolverStatus_t FromDriver(CUresult result) {
  if (result == CUDA_SUCCESS) [[likely]]
    return CUSOLVER_STATUS_SUCCESS;
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_EXECUTION_FAILED;
}

}  // namespace ptx2cpu::cusolver
