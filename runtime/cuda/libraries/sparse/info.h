// Functions for the objects of analyses: they end them and report a zero pivot.
#pragma once

#include "runtime/cuda/libraries/sparse/factor.h"

namespace ptx2cpu::cusparse {

template <typename Info>
cusparseStatus_t Destroy(Info* info) {
  delete info;
  return CUSPARSE_STATUS_SUCCESS;
}
template <typename Info>
cusparseStatus_t ReportZero(cusparseHandle_t handle, Info* info, int* position) {
  if (const cusparseStatus_t wrong = CheckNamed(handle, info != nullptr, position != nullptr)) return wrong;
  if (info->pivot == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;  // never analysed
  if (libraries::Synchronize(handle->stream) != CUDA_SUCCESS) return CUSPARSE_STATUS_EXECUTION_FAILED;
  *position = info->pivot->zero.load();
  return *position < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}

}  // namespace ptx2cpu::cusparse
