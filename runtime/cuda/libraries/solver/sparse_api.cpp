// The sparse part's handles, orders and permutations, which are of the host.
#include <numeric>

#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/solver/sparse_stepwise.h"

namespace ptx2cpu::cusolver {

namespace {

cusolverStatus_t WriteOrder(cusolverSpHandle_t handle, int reorder, int n, int nnz, cusparseMatDescr_t descr,
                            const int* begins, const int* columns, int* p) {
  if (const auto wrong =
          CheckSparse(handle, descr, n > 0, nnz > 0, begins != nullptr, columns != nullptr, p != nullptr))
    return wrong;
  if (!IsMatrix(n, n, nnz, begins, columns, descr->base)) return CUSOLVER_STATUS_INTERNAL_ERROR;
  std::ranges::copy(OrderOf(reorder, n, begins, columns, descr->base), p);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t* handle) {
  return libraries::CreateHandle(handle, CUSOLVER_STATUS_INVALID_VALUE, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle) {
  return libraries::DestroyHandle(handle, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream) {
  return libraries::Write(Check(handle), handle, &cusolverSpContext::stream, stream);
}
cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t* stream) {
  return libraries::Read(Check(handle, stream != nullptr), handle, &cusolverSpContext::stream, stream);
}

cusolverStatus_t cusolverSpXcsrqrAnalysisBatched(cusolverSpHandle_t handle, int m, int n, int nnz,
                                                 cusparseMatDescr_t descr, const int* begins,
                                                 const int* columns, csrqrInfo_t info) {
  return CheckSparse(handle, descr, n > 0, m >= n, nnz > 0, begins != nullptr, columns != nullptr,
                     info != nullptr);
}

cusolverStatus_t cusolverSpXcsrissymHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                         const int* begins, const int* ends, const int* columns,
                                         int* symmetric) {
  if (const auto wrong = CheckSparse(handle, descr, n > 0, nnz > 0, begins != nullptr, ends != nullptr,
                                     columns != nullptr, symmetric != nullptr))
    return wrong;
  std::vector<std::pair<int, int>> places, mirrored;
  for (int row = 0; row < n; ++row) {
    for (int at = begins[row] - descr->base; at < ends[row] - descr->base; ++at) {
      places.emplace_back(row, columns[at] - descr->base);
      mirrored.emplace_back(columns[at] - descr->base, row);
    }
  }
  std::ranges::sort(places), std::ranges::sort(mirrored);
  *symmetric = places == mirrored ? 1 : 0;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverSpXcsrsymrcmHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                          const int* begins, const int* columns, int* p) {
  return WriteOrder(handle, 1, n, nnz, descr, begins, columns, p);
}
// All of them order by the smallest degree.
cusolverStatus_t cusolverSpXcsrsymmdqHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                          const int* begins, const int* columns, int* p) {
  return WriteOrder(handle, 2, n, nnz, descr, begins, columns, p);
}
cusolverStatus_t cusolverSpXcsrsymamdHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                          const int* begins, const int* columns, int* p) {
  return WriteOrder(handle, 2, n, nnz, descr, begins, columns, p);
}
cusolverStatus_t cusolverSpXcsrmetisndHost(cusolverSpHandle_t handle, int n, int nnz,
                                           cusparseMatDescr_t descr, const int* begins, const int* columns,
                                           const int64_t*, int* p) {
  return WriteOrder(handle, 3, n, nnz, descr, begins, columns, p);
}

cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(cusolverSpHandle_t handle, int m, int n, int nnz,
                                                   cusparseMatDescr_t descr, const int* begins,
                                                   const int* columns, const int* p, const int* q,
                                                   size_t* size) {
  if (const auto wrong = CheckSparse(handle, descr, m > 0, n > 0, nnz > 0, begins != nullptr,
                                     columns != nullptr, p != nullptr, q != nullptr, size != nullptr))
    return wrong;
  *size = 64;
  return CUSOLVER_STATUS_SUCCESS;
}
// B = A(p, q), with columns ascending; `map` is permuted as the values are to be.
cusolverStatus_t cusolverSpXcsrpermHost(cusolverSpHandle_t handle, int m, int n, int nnz,
                                        cusparseMatDescr_t descr, int* begins, int* columns, const int* p,
                                        const int* q, int* map, void*) {
  if (const auto wrong = CheckSparse(handle, descr, m > 0, n > 0, nnz > 0, begins != nullptr,
                                     columns != nullptr, p != nullptr, q != nullptr, map != nullptr))
    return wrong;
  const int base = descr->base;
  std::vector<int> place(static_cast<size_t>(n)), all(map, map + nnz), new_columns, new_map, new_begins{base};
  for (int i = 0; i < n; ++i) place[static_cast<size_t>(q[i])] = i;
  for (int i = 0; i < m; ++i) {
    std::vector<std::pair<int, int>> row;
    for (int at = begins[p[i]] - base; at < begins[p[i] + 1] - base; ++at)
      row.emplace_back(place[static_cast<size_t>(columns[at] - base)], all[static_cast<size_t>(at)]);
    std::ranges::sort(row);
    for (const auto& [column, from] : row) new_columns.push_back(column + base), new_map.push_back(from);
    new_begins.push_back(base + static_cast<int>(new_columns.size()));
  }
  std::ranges::copy(new_begins, begins);
  std::ranges::copy(new_columns, columns);
  std::ranges::copy(new_map, map);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusolver
