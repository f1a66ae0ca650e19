// The start of every function of cuSPARSE: its handle, scalars and results in memory of either side, the
// stream.
#pragma once

#include <algorithm>
#include <complex>
#include <utility>

#include "cusparse_api.h"
#include "runtime/cuda/libraries/core/matrix_descr.h"
#include "runtime/cuda/libraries/core/numbers.h"
#include "runtime/cuda/libraries/core/parallel.h"
#include "runtime/cuda/libraries/core/stream_call.h"

// What a cusparseHandle_t points to. Used by one host thread at a time.
struct ptx2cpu::cuda::cusparseContext {
  CUstream stream = nullptr;
  cusparsePointerMode_t pointer_mode = CUSPARSE_POINTER_MODE_HOST;
};

namespace ptx2cpu::cusparse {

using namespace cuda;

cusparseStatus_t FromDriver(CUresult result);

using libraries::Conjugate;
using libraries::kIsComplex;
using libraries::Scalar;

// Status of wrong arguments as an H100 gives them; what was not recorded follows the documentation.
template <typename... Conditions>
cusparseStatus_t Check(cusparseHandle_t handle, Conditions... right) {
  return handle != nullptr && (right && ...) ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}
// For functions with a type in their name, and functions on their indices.
template <typename... Conditions>
cusparseStatus_t CheckNamed(cusparseHandle_t handle, Conditions... right) {
  return handle == nullptr ? CUSPARSE_STATUS_NOT_INITIALIZED : Check(handle, right...);
}
inline bool IsRight(cusparseOperation_t op) {
  return op >= CUSPARSE_OPERATION_NON_TRANSPOSE && op <= CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}
// Functions with types as arguments take no conjugate of real numbers.
inline bool IsRight(cusparseOperation_t op, cudaDataType type) {
  const bool is_complex =
      type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_16F || type == CUDA_C_16BF;
  return IsRight(op) && (is_complex || op != CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE);
}
inline bool IsRight(cusparseIndexBase_t base) {
  return base == CUSPARSE_INDEX_BASE_ZERO || base == CUSPARSE_INDEX_BASE_ONE;
}
inline bool Transposes(cusparseOperation_t op) { return op != CUSPARSE_OPERATION_NON_TRANSPOSE; }

template <typename Object>
cusparseStatus_t Create(Object** object) {
  if (object == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *object = new Object;
  return CUSPARSE_STATUS_SUCCESS;
}
template <typename Descr>
cusparseStatus_t DestroyDescr(Descr* descr) {
  if (descr == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}

template <typename Run>
cusparseStatus_t OnStream(cusparseHandle_t handle, const char* name, Run&& run) {
  return FromDriver(libraries::Submit(handle->stream, name, std::forward<Run>(run)));
}
// The same for work whose result the host reads when the function has returned.
template <typename Run>
cusparseStatus_t OnStreamAndWait(cusparseHandle_t handle, const char* name, Run&& run) {
  const cusparseStatus_t status = OnStream(handle, name, std::forward<Run>(run));
  if (status != CUSPARSE_STATUS_SUCCESS) return status;
  return FromDriver(libraries::Synchronize(handle->stream));
}
// By the pointer mode: a result in host memory is complete when the function has returned.
template <typename Run>
cusparseStatus_t WithResult(cusparseHandle_t handle, const char* name, Run&& run) {
  return handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE
             ? OnStream(handle, name, std::forward<Run>(run))
             : OnStreamAndWait(handle, name, std::forward<Run>(run));
}
// The same for a function that may be captured: its result is then complete when the graph has run.
template <typename Run>
cusparseStatus_t WithCapturedResult(cusparseHandle_t handle, const char* name, Run&& run) {
  return libraries::IsCaptured(handle->stream) ? OnStream(handle, name, std::forward<Run>(run))
                                               : WithResult(handle, name, std::forward<Run>(run));
}

// What bufferSize calls report: our work needs no buffer, but a null buffer asks some functions for a size.
template <typename Size>
cusparseStatus_t ReportSize(Size* size) {
  if (size == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *size = 256;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusparse
