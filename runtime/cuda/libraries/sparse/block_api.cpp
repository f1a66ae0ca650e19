// Objects of analyses of block rows, of pruning, sorting and colouring; how many blocks a conversion makes.
#include "runtime/cuda/libraries/sparse/block_convert.h"
#include "runtime/cuda/libraries/sparse/block_solve.h"
#include "runtime/cuda/libraries/sparse/info.h"
#include "runtime/cuda/libraries/sparse/reorder.h"

namespace ptx2cpu::cusparse {

cusparseStatus_t cusparseCreateBsrsv2Info(bsrsv2Info_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyBsrsv2Info(bsrsv2Info_t info) { return Destroy(info); }
cusparseStatus_t cusparseCreateBsrsm2Info(bsrsm2Info_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyBsrsm2Info(bsrsm2Info_t info) { return Destroy(info); }
cusparseStatus_t cusparseCreateBsrilu02Info(bsrilu02Info_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyBsrilu02Info(bsrilu02Info_t info) { return Destroy(info); }
cusparseStatus_t cusparseCreateBsric02Info(bsric02Info_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyBsric02Info(bsric02Info_t info) { return Destroy(info); }
cusparseStatus_t cusparseCreatePruneInfo(pruneInfo_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyPruneInfo(pruneInfo_t info) { return Destroy(info); }
cusparseStatus_t cusparseCreateCsru2csrInfo(csru2csrInfo_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyCsru2csrInfo(csru2csrInfo_t info) { return Destroy(info); }
cusparseStatus_t cusparseCreateColorInfo(cusparseColorInfo_t* info) { return Create(info); }
cusparseStatus_t cusparseDestroyColorInfo(cusparseColorInfo_t info) { return Destroy(info); }

cusparseStatus_t cusparseXbsrsv2_zeroPivot(cusparseHandle_t handle, bsrsv2Info_t info, int* position) {
  return ReportZero(handle, info, position);
}
cusparseStatus_t cusparseXbsrsm2_zeroPivot(cusparseHandle_t handle, bsrsm2Info_t info, int* position) {
  return ReportZero(handle, info, position);
}
cusparseStatus_t cusparseXbsrilu02_zeroPivot(cusparseHandle_t handle, bsrilu02Info_t info, int* position) {
  return ReportZero(handle, info, position);
}
cusparseStatus_t cusparseXbsric02_zeroPivot(cusparseHandle_t handle, bsric02Info_t info, int* position) {
  return ReportZero(handle, info, position);
}

cusparseStatus_t cusparseXcsr2bsrNnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,
                                     const cusparseMatDescr_t descrA, const int* rowOffsets,
                                     const int* columns, int dim, const cusparseMatDescr_t descrC,
                                     int* blockOffsets, int* total) {
  if (const cusparseStatus_t wrong = CheckConversion(handle, direction, m, n, descrA, descrC, dim >= 1))
    return wrong;
  return QueueCount("cusparseXcsr2bsrNnz", handle, {{m, rowOffsets, columns, descrA->base}, {}, nullptr}, m,
                    Shape(direction, dim, dim), descrC->base, blockOffsets, total);
}
cusparseStatus_t cusparseXcsr2gebsrNnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,
                                       const cusparseMatDescr_t descrA, const int* rowOffsets,
                                       const int* columns, const cusparseMatDescr_t descrC, int* blockOffsets,
                                       int rowDim, int columnDim, int* total, void*) {
  if (const cusparseStatus_t wrong =
          CheckConversion(handle, direction, m, n, descrA, descrC, rowDim >= 1, columnDim >= 1))
    return wrong;
  return QueueCount("cusparseXcsr2gebsrNnz", handle, {{m, rowOffsets, columns, descrA->base}, {}, nullptr}, m,
                    Shape(direction, rowDim, columnDim), descrC->base, blockOffsets, total);
}
cusparseStatus_t cusparseXgebsr2gebsrNnz(cusparseHandle_t handle, cusparseDirection_t direction, int mb,
                                         int nb, int nnzb, const cusparseMatDescr_t descrA,
                                         const int* offsetsA, const int* columnsA, int rowDimA,
                                         int columnDimA, const cusparseMatDescr_t descrC, int* offsetsC,
                                         int rowDimC, int columnDimC, int* total, void*) {
  if (const cusparseStatus_t wrong =
          CheckConversion(handle, direction, mb, nb, descrA, descrC, nnzb >= 0, rowDimA >= 1, columnDimA >= 1,
                          rowDimC >= 1, columnDimC >= 1))
    return wrong;
  const Blocks<const float> from{
      {mb, offsetsA, columnsA, descrA->base}, Shape(direction, rowDimA, columnDimA), nullptr};
  return QueueCount("cusparseXgebsr2gebsrNnz", handle, from, from.rows(),
                    Shape(direction, rowDimC, columnDimC), descrC->base, offsetsC, total);
}

}  // namespace ptx2cpu::cusparse
