// The infos of factors of sparse matrices, and the functions that are of no type.
#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/solver/sparse_stepwise.h"

namespace ptx2cpu::cusolver {

namespace {

template <typename Info>
cusolverStatus_t Destroy(Info* info) {
  delete info;
  return CUSOLVER_STATUS_SUCCESS;
}
// Other kinds of matrices are a wrong value there, as recorded.
cusolverStatus_t OfCholesky(cusolverStatus_t status) {
  return status == CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED ? CUSOLVER_STATUS_INVALID_VALUE : status;
}

}  // namespace

cusolverStatus_t cusolverSpCreateCsrqrInfoHost(csrqrInfoHost_t* info) {
  return libraries::CreateObject(info, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverSpDestroyCsrqrInfoHost(csrqrInfoHost_t info) { return Destroy(info); }
cusolverStatus_t cusolverSpXcsrqrAnalysisHost(cusolverSpHandle_t handle, int m, int n, int nnz,
                                              cusparseMatDescr_t descr, const int* begins, const int* columns,
                                              csrqrInfoHost_t info) {
  return Analyse("cusolverSpXcsrqrAnalysisHost", handle, m, n, nnz, descr, begins, columns, info);
}
cusolverStatus_t cusolverSpCreateCsrqrInfo(csrqrInfo_t* info) {
  return libraries::CreateObject(info, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverSpDestroyCsrqrInfo(csrqrInfo_t info) { return Destroy(info); }
cusolverStatus_t cusolverSpXcsrqrAnalysis(cusolverSpHandle_t handle, int m, int n, int nnz,
                                          cusparseMatDescr_t descr, const int* begins, const int* columns,
                                          csrqrInfo_t info) {
  return Analyse("cusolverSpXcsrqrAnalysis", handle, m, n, nnz, descr, begins, columns, info);
}
cusolverStatus_t cusolverSpCreateCsrluInfoHost(csrluInfoHost_t* info) {
  return libraries::CreateObject(info, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverSpDestroyCsrluInfoHost(csrluInfoHost_t info) { return Destroy(info); }
cusolverStatus_t cusolverSpXcsrluAnalysisHost(cusolverSpHandle_t handle, int n, int nnz,
                                              cusparseMatDescr_t descr, const int* begins, const int* columns,
                                              csrluInfoHost_t info) {
  return Analyse("cusolverSpXcsrluAnalysisHost", handle, n, n, nnz, descr, begins, columns, info);
}
cusolverStatus_t cusolverSpCreateCsrcholInfoHost(csrcholInfoHost_t* info) {
  return libraries::CreateObject(info, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverSpDestroyCsrcholInfoHost(csrcholInfoHost_t info) { return Destroy(info); }
cusolverStatus_t cusolverSpXcsrcholAnalysisHost(cusolverSpHandle_t handle, int n, int nnz,
                                                cusparseMatDescr_t descr, const int* begins,
                                                const int* columns, csrcholInfoHost_t info) {
  return OfCholesky(
      Analyse("cusolverSpXcsrcholAnalysisHost", handle, n, n, nnz, descr, begins, columns, info));
}
cusolverStatus_t cusolverSpCreateCsrcholInfo(csrcholInfo_t* info) {
  return libraries::CreateObject(info, CUSOLVER_STATUS_INVALID_VALUE);
}
cusolverStatus_t cusolverSpDestroyCsrcholInfo(csrcholInfo_t info) { return Destroy(info); }
cusolverStatus_t cusolverSpXcsrcholAnalysis(cusolverSpHandle_t handle, int n, int nnz,
                                            cusparseMatDescr_t descr, const int* begins, const int* columns,
                                            csrcholInfo_t info) {
  return OfCholesky(Analyse("cusolverSpXcsrcholAnalysis", handle, n, n, nnz, descr, begins, columns, info));
}
cusolverStatus_t cusolverSpXcsrluNnzHost(cusolverSpHandle_t handle, int* lCount, int* uCount,
                                         csrluInfoHost_t info) {
  if (const auto wrong = Check(handle, lCount != nullptr, uCount != nullptr, info != nullptr)) return wrong;
  if (info->singular >= 0) return CUSOLVER_STATUS_INTERNAL_ERROR;
  const auto count = [](const auto& rows) {
    size_t elements = 0;
    for (const auto& row : rows) elements += row.size();
    return static_cast<int>(elements);
  };
  const auto write = [&]<typename Factors>(const Factors& factors) {
    if constexpr (std::is_same_v<Factors, std::monostate>) {
      return CUSOLVER_STATUS_INVALID_VALUE;
    } else {
      *lCount = count(factors.Lower()), *uCount = count(factors.Upper());
      return CUSOLVER_STATUS_SUCCESS;
    }
  };
  return std::visit(write, info->factors);
}

}  // namespace ptx2cpu::cusolver
