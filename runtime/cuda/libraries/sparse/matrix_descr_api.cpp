// Descriptors of sparse matrices.
#include "runtime/cuda/libraries/sparse/values.h"

namespace ptx2cpu::cusparse {

namespace {

bool IsIndex(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }

cusparseStatus_t Create(cusparseSpMatDescr_t* descr, const cusparseSpMatDescr& matrix) {
  if (descr == nullptr || matrix.rows < 0 || matrix.columns < 0 || matrix.nnz < 0 ||
      !IsIndex(matrix.offset_type) || !IsIndex(matrix.index_type) || !IsRight(matrix.base) ||
      BytesOf(matrix.type) == 0 || matrix.block_rows <= 0 || matrix.block_columns < 0)
    return CUSPARSE_STATUS_INVALID_VALUE;
  // A matrix of more than 2^63 places has room for any number of entries.
  const bool single = matrix.format == CUSPARSE_FORMAT_CSR || matrix.format == CUSPARSE_FORMAT_CSC ||
                      matrix.format == CUSPARSE_FORMAT_COO;
  if (single && static_cast<double>(matrix.nnz) >
                    static_cast<double>(matrix.rows) * static_cast<double>(matrix.columns))
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (matrix.offset_type != matrix.index_type) return CUSPARSE_STATUS_NOT_SUPPORTED;
  *descr = new cusparseSpMatDescr(matrix);
  return CUSPARSE_STATUS_SUCCESS;
}

// What the Get functions of formats with offsets report.
cusparseStatus_t Get(cusparseConstSpMatDescr_t descr, cusparseFormat_t format, int64_t* rows, int64_t* cols,
                     int64_t* nnz, const void** offsets, const void** indices, const void** values,
                     cusparseIndexType_t* offset_type, cusparseIndexType_t* index_type,
                     cusparseIndexBase_t* base, cudaDataType* type) {
  if (descr == nullptr || descr->format != format || rows == nullptr || cols == nullptr || nnz == nullptr ||
      offsets == nullptr || indices == nullptr || values == nullptr || offset_type == nullptr ||
      index_type == nullptr || base == nullptr || type == nullptr)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *rows = descr->rows, *cols = descr->columns, *nnz = descr->nnz;
  // As recorded, whatever the stored columns are.
  if (descr->format == CUSPARSE_FORMAT_BLOCKED_ELL) *nnz = descr->rows * descr->columns * descr->block_rows;
  *offsets = descr->offsets, *indices = descr->indices, *values = descr->values;
  *offset_type = descr->offset_type, *index_type = descr->index_type;
  *base = descr->base, *type = descr->type;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t SetPointers(cusparseSpMatDescr_t descr, cusparseFormat_t format, void* offsets,
                             void* indices, void* values) {
  if (descr == nullptr || descr->format != format) return CUSPARSE_STATUS_INVALID_VALUE;
  // Coordinates may be taken away.
  const bool has_values = indices != nullptr && values != nullptr;
  if (format != CUSPARSE_FORMAT_COO && (offsets == nullptr || (descr->nnz > 0 && !has_values)))
    return CUSPARSE_STATUS_INVALID_VALUE;
  descr->offsets = offsets, descr->indices = indices, descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}

const void** Const(void** pointer) { return const_cast<const void**>(pointer); }
cusparseSpMatDescr_t* Mutable(cusparseConstSpMatDescr_t* descr) {
  return const_cast<cusparseSpMatDescr_t*>(descr);
}

}  // namespace

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* descr, int64_t rows, int64_t cols, int64_t nnz,
                                   void* rowOffsets, void* columns, void* values,
                                   cusparseIndexType_t offsetType, cusparseIndexType_t indexType,
                                   cusparseIndexBase_t base, cudaDataType valueType) {
  return Create(descr, {CUSPARSE_FORMAT_CSR, rows, cols, nnz, rowOffsets, columns, values, offsetType,
                        indexType, base, valueType});
}
cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t* descr, int64_t rows, int64_t cols,
                                        int64_t nnz, const void* rowOffsets, const void* columns,
                                        const void* values, cusparseIndexType_t offsetType,
                                        cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                        cudaDataType valueType) {
  return cusparseCreateCsr(Mutable(descr), rows, cols, nnz, const_cast<void*>(rowOffsets),
                           const_cast<void*>(columns), const_cast<void*>(values), offsetType, indexType, base,
                           valueType);
}
cusparseStatus_t cusparseConstCsrGet(cusparseConstSpMatDescr_t descr, int64_t* rows, int64_t* cols,
                                     int64_t* nnz, const void** rowOffsets, const void** columns,
                                     const void** values, cusparseIndexType_t* offsetType,
                                     cusparseIndexType_t* indexType, cusparseIndexBase_t* base,
                                     cudaDataType* valueType) {
  return Get(descr, CUSPARSE_FORMAT_CSR, rows, cols, nnz, rowOffsets, columns, values, offsetType, indexType,
             base, valueType);
}
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t descr, int64_t* rows, int64_t* cols, int64_t* nnz,
                                void** rowOffsets, void** columns, void** values,
                                cusparseIndexType_t* offsetType, cusparseIndexType_t* indexType,
                                cusparseIndexBase_t* base, cudaDataType* valueType) {
  return cusparseConstCsrGet(descr, rows, cols, nnz, Const(rowOffsets), Const(columns), Const(values),
                             offsetType, indexType, base, valueType);
}
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t descr, void* rowOffsets, void* columns,
                                        void* values) {
  return SetPointers(descr, CUSPARSE_FORMAT_CSR, rowOffsets, columns, values);
}

cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* descr, int64_t rows, int64_t cols, int64_t nnz,
                                   void* columnOffsets, void* rowIndices, void* values,
                                   cusparseIndexType_t offsetType, cusparseIndexType_t indexType,
                                   cusparseIndexBase_t base, cudaDataType valueType) {
  return Create(descr, {CUSPARSE_FORMAT_CSC, rows, cols, nnz, columnOffsets, rowIndices, values, offsetType,
                        indexType, base, valueType});
}
cusparseStatus_t cusparseCreateConstCsc(cusparseConstSpMatDescr_t* descr, int64_t rows, int64_t cols,
                                        int64_t nnz, const void* columnOffsets, const void* rowIndices,
                                        const void* values, cusparseIndexType_t offsetType,
                                        cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                        cudaDataType valueType) {
  return cusparseCreateCsc(Mutable(descr), rows, cols, nnz, const_cast<void*>(columnOffsets),
                           const_cast<void*>(rowIndices), const_cast<void*>(values), offsetType, indexType,
                           base, valueType);
}
cusparseStatus_t cusparseConstCscGet(cusparseConstSpMatDescr_t descr, int64_t* rows, int64_t* cols,
                                     int64_t* nnz, const void** columnOffsets, const void** rowIndices,
                                     const void** values, cusparseIndexType_t* offsetType,
                                     cusparseIndexType_t* indexType, cusparseIndexBase_t* base,
                                     cudaDataType* valueType) {
  return Get(descr, CUSPARSE_FORMAT_CSC, rows, cols, nnz, columnOffsets, rowIndices, values, offsetType,
             indexType, base, valueType);
}
cusparseStatus_t cusparseCscGet(cusparseSpMatDescr_t descr, int64_t* rows, int64_t* cols, int64_t* nnz,
                                void** columnOffsets, void** rowIndices, void** values,
                                cusparseIndexType_t* offsetType, cusparseIndexType_t* indexType,
                                cusparseIndexBase_t* base, cudaDataType* valueType) {
  return cusparseConstCscGet(descr, rows, cols, nnz, Const(columnOffsets), Const(rowIndices), Const(values),
                             offsetType, indexType, base, valueType);
}
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t descr, void* columnOffsets, void* rowIndices,
                                        void* values) {
  return SetPointers(descr, CUSPARSE_FORMAT_CSC, columnOffsets, rowIndices, values);
}

cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* descr, int64_t rows, int64_t cols, int64_t nnz,
                                   void* rowIndices, void* columns, void* values,
                                   cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                   cudaDataType valueType) {
  return Create(descr, {CUSPARSE_FORMAT_COO, rows, cols, nnz, rowIndices, columns, values, indexType,
                        indexType, base, valueType});
}
cusparseStatus_t cusparseCreateConstCoo(cusparseConstSpMatDescr_t* descr, int64_t rows, int64_t cols,
                                        int64_t nnz, const void* rowIndices, const void* columns,
                                        const void* values, cusparseIndexType_t indexType,
                                        cusparseIndexBase_t base, cudaDataType valueType) {
  return cusparseCreateCoo(Mutable(descr), rows, cols, nnz, const_cast<void*>(rowIndices),
                           const_cast<void*>(columns), const_cast<void*>(values), indexType, base, valueType);
}
cusparseStatus_t cusparseConstCooGet(cusparseConstSpMatDescr_t descr, int64_t* rows, int64_t* cols,
                                     int64_t* nnz, const void** rowIndices, const void** columns,
                                     const void** values, cusparseIndexType_t* indexType,
                                     cusparseIndexBase_t* base, cudaDataType* valueType) {
  cusparseIndexType_t row_type;
  return Get(descr, CUSPARSE_FORMAT_COO, rows, cols, nnz, rowIndices, columns, values, &row_type, indexType,
             base, valueType);
}
cusparseStatus_t cusparseCooGet(cusparseSpMatDescr_t descr, int64_t* rows, int64_t* cols, int64_t* nnz,
                                void** rowIndices, void** columns, void** values,
                                cusparseIndexType_t* indexType, cusparseIndexBase_t* base,
                                cudaDataType* valueType) {
  return cusparseConstCooGet(descr, rows, cols, nnz, Const(rowIndices), Const(columns), Const(values),
                             indexType, base, valueType);
}
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t descr, void* rowIndices, void* columns,
                                        void* values) {
  return SetPointers(descr, CUSPARSE_FORMAT_COO, rowIndices, columns, values);
}

cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t* descr, int64_t blockRows, int64_t blockCols,
                                   int64_t blockNnz, int64_t blockHeight, int64_t blockWidth,
                                   void* rowOffsets, void* columns, void* values,
                                   cusparseIndexType_t offsetType, cusparseIndexType_t indexType,
                                   cusparseIndexBase_t base, cudaDataType valueType, cusparseOrder_t order) {
  if (blockHeight <= 0 || blockWidth <= 0 || blockNnz > blockRows * blockCols ||
      (order != CUSPARSE_ORDER_ROW && order != CUSPARSE_ORDER_COL))
    return CUSPARSE_STATUS_INVALID_VALUE;
  return Create(descr, {CUSPARSE_FORMAT_BSR, blockRows * blockHeight, blockCols * blockWidth,
                        blockNnz * blockHeight * blockWidth, rowOffsets, columns, values, offsetType,
                        indexType, base, valueType, blockHeight, blockWidth, order});
}
cusparseStatus_t cusparseCreateConstBsr(cusparseConstSpMatDescr_t* descr, int64_t blockRows,
                                        int64_t blockCols, int64_t blockNnz, int64_t blockHeight,
                                        int64_t blockWidth, const void* rowOffsets, const void* columns,
                                        const void* values, cusparseIndexType_t offsetType,
                                        cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                        cudaDataType valueType, cusparseOrder_t order) {
  return cusparseCreateBsr(Mutable(descr), blockRows, blockCols, blockNnz, blockHeight, blockWidth,
                           const_cast<void*>(rowOffsets), const_cast<void*>(columns),
                           const_cast<void*>(values), offsetType, indexType, base, valueType, order);
}

cusparseStatus_t cusparseCreateBlockedEll(cusparseSpMatDescr_t* descr, int64_t rows, int64_t cols,
                                          int64_t blockSize, int64_t ellCols, void* columns, void* values,
                                          cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                          cudaDataType valueType) {
  if (blockSize <= 0 || ellCols < 0 || ellCols > cols || ellCols % blockSize != 0 || cols % blockSize != 0)
    return CUSPARSE_STATUS_INVALID_VALUE;
  return Create(descr, {CUSPARSE_FORMAT_BLOCKED_ELL, rows, cols, rows * ellCols, nullptr, columns, values,
                        indexType, indexType, base, valueType, blockSize, ellCols});
}
cusparseStatus_t cusparseCreateConstBlockedEll(cusparseConstSpMatDescr_t* descr, int64_t rows, int64_t cols,
                                               int64_t blockSize, int64_t ellCols, const void* columns,
                                               const void* values, cusparseIndexType_t indexType,
                                               cusparseIndexBase_t base, cudaDataType valueType) {
  return cusparseCreateBlockedEll(Mutable(descr), rows, cols, blockSize, ellCols, const_cast<void*>(columns),
                                  const_cast<void*>(values), indexType, base, valueType);
}
cusparseStatus_t cusparseConstBlockedEllGet(cusparseConstSpMatDescr_t descr, int64_t* rows, int64_t* cols,
                                            int64_t* blockSize, int64_t* ellCols, const void** columns,
                                            const void** values, cusparseIndexType_t* indexType,
                                            cusparseIndexBase_t* base, cudaDataType* valueType) {
  const void* offsets;
  cusparseIndexType_t offset_type;
  int64_t nnz;
  if (blockSize == nullptr || ellCols == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  if (const cusparseStatus_t wrong = Get(descr, CUSPARSE_FORMAT_BLOCKED_ELL, rows, cols, &nnz, &offsets,
                                         columns, values, &offset_type, indexType, base, valueType))
    return wrong;
  *blockSize = descr->block_rows, *ellCols = descr->block_columns;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseBlockedEllGet(cusparseSpMatDescr_t descr, int64_t* rows, int64_t* cols,
                                       int64_t* blockSize, int64_t* ellCols, void** columns, void** values,
                                       cusparseIndexType_t* indexType, cusparseIndexBase_t* base,
                                       cudaDataType* valueType) {
  return cusparseConstBlockedEllGet(descr, rows, cols, blockSize, ellCols, Const(columns), Const(values),
                                    indexType, base, valueType);
}

cusparseStatus_t cusparseCreateSlicedEll(cusparseSpMatDescr_t* descr, int64_t rows, int64_t cols, int64_t nnz,
                                         int64_t valuesSize, int64_t sliceSize, void* sliceOffsets,
                                         void* columns, void* values, cusparseIndexType_t offsetType,
                                         cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                         cudaDataType valueType) {
  if (valuesSize < nnz) return CUSPARSE_STATUS_INVALID_VALUE;
  return Create(descr, {CUSPARSE_FORMAT_SLICED_ELLPACK, rows, cols, nnz, sliceOffsets, columns, values,
                        offsetType, indexType, base, valueType, sliceSize, valuesSize});
}
cusparseStatus_t cusparseCreateConstSlicedEll(cusparseConstSpMatDescr_t* descr, int64_t rows, int64_t cols,
                                              int64_t nnz, int64_t valuesSize, int64_t sliceSize,
                                              const void* sliceOffsets, const void* columns,
                                              const void* values, cusparseIndexType_t offsetType,
                                              cusparseIndexType_t indexType, cusparseIndexBase_t base,
                                              cudaDataType valueType) {
  return cusparseCreateSlicedEll(Mutable(descr), rows, cols, nnz, valuesSize, sliceSize,
                                 const_cast<void*>(sliceOffsets), const_cast<void*>(columns),
                                 const_cast<void*>(values), offsetType, indexType, base, valueType);
}

cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t descr, cusparseFormat_t* format) {
  if (descr == nullptr || format == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *format = descr->format;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t descr, cusparseIndexBase_t* base) {
  if (descr == nullptr || base == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *base = descr->base;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseConstSpMatGetValues(cusparseConstSpMatDescr_t descr, const void** values) {
  if (descr == nullptr || values == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *values = descr->values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t descr, void** values) {
  return cusparseConstSpMatGetValues(descr, Const(values));
}
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t descr, void* values) {
  if (descr == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t descr, int64_t* rows, int64_t* cols,
                                      int64_t* nnz) {
  if (descr == nullptr || rows == nullptr || cols == nullptr || nnz == nullptr)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *rows = descr->rows, *cols = descr->columns, *nnz = descr->nnz;
  // As recorded, whatever the stored columns are.
  if (descr->format == CUSPARSE_FORMAT_BLOCKED_ELL) *nnz = descr->rows * descr->columns * descr->block_rows;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t descr, int* count) {
  if (descr == nullptr || count == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *count = descr->count;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t descr, int count, int64_t stride) {
  if (descr == nullptr || descr->format != CUSPARSE_FORMAT_COO || count <= 0 || stride < 0)
    return CUSPARSE_STATUS_INVALID_VALUE;
  descr->count = count;
  descr->offset_stride = descr->index_stride = descr->value_stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t descr, int count, int64_t offsetStride,
                                            int64_t valueStride) {
  const bool right = descr != nullptr &&
                     (descr->format == CUSPARSE_FORMAT_CSR || descr->format == CUSPARSE_FORMAT_CSC) &&
                     count >= 0 && offsetStride >= 0 && valueStride >= 0;
  if (!right) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->count = count, descr->offset_stride = offsetStride;
  descr->index_stride = descr->value_stride = valueStride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseBsrSetStridedBatch(cusparseSpMatDescr_t descr, int count, int64_t offsetStride,
                                            int64_t columnStride, int64_t valueStride) {
  if (descr == nullptr || descr->format != CUSPARSE_FORMAT_BSR || count <= 0 || offsetStride < 0 ||
      columnStride < 0 || valueStride < 0)
    return CUSPARSE_STATUS_INVALID_VALUE;
  descr->count = count, descr->offset_stride = offsetStride;
  descr->index_stride = columnStride, descr->value_stride = valueStride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t descr,
                                           cusparseSpMatAttribute_t attribute, void* data, size_t size) {
  if (descr == nullptr || data == nullptr || size != sizeof(int)) return CUSPARSE_STATUS_INVALID_VALUE;
  if (attribute == CUSPARSE_SPMAT_FILL_MODE) {
    *static_cast<cusparseFillMode_t*>(data) = descr->fill;
  } else if (attribute == CUSPARSE_SPMAT_DIAG_TYPE) {
    *static_cast<cusparseDiagType_t*>(data) = descr->diagonal;
  } else {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t descr, cusparseSpMatAttribute_t attribute,
                                           void* data, size_t size) {
  if (descr == nullptr || data == nullptr || size != sizeof(int)) return CUSPARSE_STATUS_INVALID_VALUE;
  const int value = *static_cast<const int*>(data);  // any number is taken
  if (attribute == CUSPARSE_SPMAT_FILL_MODE) {
    descr->fill = static_cast<cusparseFillMode_t>(value);
  } else if (attribute == CUSPARSE_SPMAT_DIAG_TYPE) {
    descr->diagonal = static_cast<cusparseDiagType_t>(value);
  } else {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusparse
