#include "runtime/cuda/libraries/sparse/call.h"

namespace ptx2cpu::cusparse {

cusparseStatus_t FromDriver(CUresult result) {
  if (result == CUDA_SUCCESS) [[likely]]
    return CUSPARSE_STATUS_SUCCESS;
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUSPARSE_STATUS_ALLOC_FAILED : CUSPARSE_STATUS_EXECUTION_FAILED;
}

}  // namespace ptx2cpu::cusparse
