// Descriptors of sparse vectors, dense vectors and dense matrices.
#include "runtime/cuda/libraries/sparse/values.h"

namespace ptx2cpu::cusparse {

namespace {

bool IsIndex(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }

// Fills what the caller asks for; a null pointer is a wrong argument, as for every Get function.
template <typename Descr, typename... Targets>
cusparseStatus_t Filled(const Descr* descr, Targets*... targets) {
  return descr != nullptr && ((targets != nullptr) && ...) ? CUSPARSE_STATUS_SUCCESS
                                                           : CUSPARSE_STATUS_INVALID_VALUE;
}

}  // namespace

cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* descr, int64_t size, int64_t nnz, void* indices,
                                     void* values, cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                     cudaDataType valueType) {
  if (descr == nullptr || size < 0 || nnz < 0 || nnz > size || !IsIndex(indexType) || !IsRight(base) ||
      BytesOf(valueType) == 0)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *descr = new cusparseSpVecDescr{size, nnz, indices, values, indexType, base, valueType};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t* descr, int64_t size, int64_t nnz,
                                          const void* indices, const void* values,
                                          cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                          cudaDataType valueType) {
  return cusparseCreateSpVec(const_cast<cusparseSpVecDescr_t*>(descr), size, nnz, const_cast<void*>(indices),
                             const_cast<void*>(values), indexType, base, valueType);
}
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseConstSpVecGet(cusparseConstSpVecDescr_t descr, int64_t* size, int64_t* nnz,
                                       const void** indices, const void** values,
                                       cusparseIndexType_t* indexType, cusparseIndexBase_t* base,
                                       cudaDataType* valueType) {
  if (const cusparseStatus_t wrong = Filled(descr, size, nnz, indices, values, indexType, base, valueType))
    return wrong;
  *size = descr->size, *nnz = descr->nnz;
  *indices = descr->indices, *values = descr->values;
  *indexType = descr->index_type, *base = descr->base, *valueType = descr->type;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpVecGet(cusparseSpVecDescr_t descr, int64_t* size, int64_t* nnz, void** indices,
                                  void** values, cusparseIndexType_t* indexType, cusparseIndexBase_t* base,
                                  cudaDataType* valueType) {
  return cusparseConstSpVecGet(descr, size, nnz, const_cast<const void**>(indices),
                               const_cast<const void**>(values), indexType, base, valueType);
}
cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t descr, cusparseIndexBase_t* base) {
  if (const cusparseStatus_t wrong = Filled(descr, base)) return wrong;
  *base = descr->base;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseConstSpVecGetValues(cusparseConstSpVecDescr_t descr, const void** values) {
  if (const cusparseStatus_t wrong = Filled(descr, values)) return wrong;
  *values = descr->values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t descr, void** values) {
  return cusparseConstSpVecGetValues(descr, const_cast<const void**>(values));
}
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t descr, void* values) {
  if (descr == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* descr, int64_t size, void* values,
                                     cudaDataType valueType) {
  if (descr == nullptr || size < 0 || BytesOf(valueType) == 0) return CUSPARSE_STATUS_INVALID_VALUE;
  *descr = new cusparseDnVecDescr{size, values, valueType};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t* descr, int64_t size, const void* values,
                                          cudaDataType valueType) {
  return cusparseCreateDnVec(const_cast<cusparseDnVecDescr_t*>(descr), size, const_cast<void*>(values),
                             valueType);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseConstDnVecGet(cusparseConstDnVecDescr_t descr, int64_t* size, const void** values,
                                       cudaDataType* valueType) {
  if (const cusparseStatus_t wrong = Filled(descr, size, values, valueType)) return wrong;
  *size = descr->size, *values = descr->values, *valueType = descr->type;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t descr, int64_t* size, void** values,
                                  cudaDataType* valueType) {
  return cusparseConstDnVecGet(descr, size, const_cast<const void**>(values), valueType);
}
cusparseStatus_t cusparseConstDnVecGetValues(cusparseConstDnVecDescr_t descr, const void** values) {
  if (const cusparseStatus_t wrong = Filled(descr, values)) return wrong;
  *values = descr->values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t descr, void** values) {
  return cusparseConstDnVecGetValues(descr, const_cast<const void**>(values));
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t descr, void* values) {
  if (descr == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* descr, int64_t rows, int64_t cols, int64_t ld,
                                     void* values, cudaDataType valueType, cusparseOrder_t order) {
  const bool ordered = order == CUSPARSE_ORDER_COL || order == CUSPARSE_ORDER_ROW;
  if (descr == nullptr || rows < 0 || cols < 0 || !ordered || BytesOf(valueType) == 0 ||
      ld < (order == CUSPARSE_ORDER_COL ? rows : cols))
    return CUSPARSE_STATUS_INVALID_VALUE;
  *descr = new cusparseDnMatDescr{rows, cols, ld, values, valueType, order};
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t* descr, int64_t rows, int64_t cols,
                                          int64_t ld, const void* values, cudaDataType valueType,
                                          cusparseOrder_t order) {
  return cusparseCreateDnMat(const_cast<cusparseDnMatDescr_t*>(descr), rows, cols, ld,
                             const_cast<void*>(values), valueType, order);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseConstDnMatGet(cusparseConstDnMatDescr_t descr, int64_t* rows, int64_t* cols,
                                       int64_t* ld, const void** values, cudaDataType* valueType,
                                       cusparseOrder_t* order) {
  if (const cusparseStatus_t wrong = Filled(descr, rows, cols, ld, values, valueType, order)) return wrong;
  *rows = descr->rows, *cols = descr->columns, *ld = descr->ld;
  *values = descr->values, *valueType = descr->type, *order = descr->order;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t descr, int64_t* rows, int64_t* cols, int64_t* ld,
                                  void** values, cudaDataType* valueType, cusparseOrder_t* order) {
  return cusparseConstDnMatGet(descr, rows, cols, ld, const_cast<const void**>(values), valueType, order);
}
cusparseStatus_t cusparseConstDnMatGetValues(cusparseConstDnMatDescr_t descr, const void** values) {
  if (const cusparseStatus_t wrong = Filled(descr, values)) return wrong;
  *values = descr->values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t descr, void** values) {
  return cusparseConstDnMatGetValues(descr, const_cast<const void**>(values));
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t descr, void* values) {
  if (descr == nullptr || values == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t descr, int count, int64_t stride) {
  if (descr == nullptr || count <= 0 || stride < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  const int64_t lines = descr->order == CUSPARSE_ORDER_COL ? descr->columns : descr->rows;
  if (stride != 0 && stride < descr->ld * lines) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->count = count, descr->stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t descr, int* count, int64_t* stride) {
  if (const cusparseStatus_t wrong = Filled(descr, count, stride)) return wrong;
  *count = descr->count, *stride = descr->stride;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusparse
