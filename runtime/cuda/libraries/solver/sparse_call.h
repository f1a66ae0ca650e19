// The start of every function of cuSOLVER's sparse part: its handle and matrix.
#pragma once

#include "runtime/cuda/libraries/core/matrix_descr.h"
#include "runtime/cuda/libraries/solver/call.h"
#include "runtime/cuda/libraries/solver/sparse_matrix.h"

// What a cusolverSpHandle_t points to. Used by one host thread at a time.
struct ptx2cpu::cuda::cusolverSpContext {
  CUstream stream = nullptr;
};

namespace ptx2cpu::cusolver {

// The handle, everything else, then the kind of matrix. Missing descriptors are of no kind, as recorded.
template <typename... Conditions>
cusolverStatus_t CheckSparse(cusolverSpHandle_t handle, cusparseMatDescr_t descr, Conditions... right) {
  if (const cusolverStatus_t wrong = Check(handle, right...)) return wrong;
  const bool is_general = descr != nullptr && descr->type == CUSPARSE_MATRIX_TYPE_GENERAL;
  return is_general ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

// The orders that `reorder` of csrlsv functions names; empty: as it is.
inline bool IsOrder(int reorder) { return reorder >= 0 && reorder <= 3; }
inline std::vector<int> OrderOf(int reorder, int n, const int* begins, const int* columns, int base) {
  if (reorder == 0) return {};
  const Neighbours neighbours = NeighboursOf(n, begins, columns, base);
  return reorder == 1 ? NarrowOrder(neighbours) : SmallestDegreeOrder(neighbours);
}

// Queues work that needs no engine, and waits for its result in host memory.
template <typename Run>
cusolverStatus_t DoAndWait(cusolverSpHandle_t handle, const char* name, Run&& run) {
  const CUresult queued = libraries::Submit(handle->stream, name, std::forward<Run>(run));
  return FromDriver(queued != CUDA_SUCCESS ? queued : libraries::Synchronize(handle->stream));
}

}  // namespace ptx2cpu::cusolver
