// The objects of incomplete factorisations, and the structure of sums.
#include "runtime/cuda/libraries/sparse/info.h"
#include "runtime/cuda/libraries/sparse/sum.h"

namespace ptx2cpu::cusparse {

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info) { return Destroy(info); }
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int* position) {
  return ReportZero(handle, info, position);
}
cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t info) { return Destroy(info); }
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t handle, csric02Info_t info, int* position) {
  return ReportZero(handle, info, position);
}

cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n, const cusparseMatDescr_t descrA,
                                      int nnzA, const int* rowOffsetsA, const int* columnsA,
                                      const cusparseMatDescr_t descrB, int nnzB, const int* rowOffsetsB,
                                      const int* columnsB, const cusparseMatDescr_t descrC, int* rowOffsetsC,
                                      int* total, void*) {
  if (const cusparseStatus_t wrong =
          CheckNamed(handle, m >= 0, n >= 0, nnzA >= 0, nnzB >= 0, descrA != nullptr, descrB != nullptr,
                     descrC != nullptr, rowOffsetsC != nullptr, total != nullptr))
    return wrong;
  return WithResult(handle, "cusparseXcsrgeam2Nnz",
                    [=, a = Pattern{m, rowOffsetsA, columnsA, descrA->base},
                     b = Pattern{m, rowOffsetsB, columnsB, descrB->base}, base = descrC->base] {
                      int next = 0;
                      for (int i = 0; i < m; ++i) {
                        rowOffsetsC[i] = next + base;
                        MergeRow(a, b, i, [&](int, int, int) { ++next; });
                      }
                      rowOffsetsC[m] = next + base;
                      *total = next;
                    });
}

}  // namespace ptx2cpu::cusparse
