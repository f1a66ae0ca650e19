// Vectors and matrices whose types are arguments. Work that is queued keeps a copy: a program may destroy
// them at once.
#pragma once

#include "runtime/cuda/libraries/sparse/call.h"

struct ptx2cpu::cuda::cusparseSpVecDescr {
  int64_t size, nnz;
  void *indices, *values;
  cusparseIndexType_t index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
};

struct ptx2cpu::cuda::cusparseDnVecDescr {
  int64_t size;
  void* values;
  cudaDataType type;
};

// A batch has `count` matrices, `stride` values apart.
struct ptx2cpu::cuda::cusparseDnMatDescr {
  int64_t rows, columns, ld;
  void* values;
  cudaDataType type;
  cusparseOrder_t order;
  int count = 1;
  int64_t stride = 0;
};

struct ptx2cpu::cuda::cusparseSpMatDescr {
  cusparseFormat_t format;
  int64_t rows, columns, nnz;
  // CSR and BSR: of (block) rows; CSC: of columns; COO: the row of each entry; sliced ELL: of slices.
  void* offsets;
  void* indices;
  void* values;
  cusparseIndexType_t offset_type, index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  // BSR: the shape of a block. Blocked ELL: its size, and the columns that a block row stores. Sliced ELL:
  // rows of a slice, and stored values.
  int64_t block_rows = 1, block_columns = 1;
  cusparseOrder_t order = CUSPARSE_ORDER_ROW;  // of the values in a block
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  int count = 1;
  int64_t offset_stride = 0, index_stride = 0, value_stride = 0;
};

namespace ptx2cpu::cusparse {

// Indices of a type that is an argument, without their base.
struct Indices {
  const void* data;
  bool wide;
  int64_t base;
  int64_t operator[](int64_t i) const {
    return (wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i]) - base;
  }
};
inline Indices IndicesOf(const void* data, cusparseIndexType_t type, cusparseIndexBase_t base,
                         int64_t first = 0) {
  const bool wide = type == CUSPARSE_INDEX_64I;
  return {static_cast<const char*>(data) + first * (wide ? 8 : 4), wide, base};
}
inline void StoreIndex(void* data, cusparseIndexType_t type, int64_t i, int64_t value) {
  if (type == CUSPARSE_INDEX_64I) {
    static_cast<int64_t*>(data)[i] = value;
  } else {
    static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
  }
}

// How many rows, columns, entries, block rows or slices the format is stored by.
int64_t OuterSize(const cusparseSpMatDescr& m);

// What a block of blocked ELL counts as whose column is -1: no block, or, as recorded of products, the first.
enum class MissingBlock : uint8_t { kNone, kFirst };

// visit(row, column, index of the value) for the stored entries of matrix `batch` that belong to the outer
// indices begin ... end - 1, in the order of storage.
template <MissingBlock kMissing = MissingBlock::kNone, typename Visit>
void ForEntries(const cusparseSpMatDescr& m, int batch, int64_t begin, int64_t end, const Visit& visit) {
  const int64_t value = batch * m.value_stride;
  const Indices index = IndicesOf(m.indices, m.index_type, m.base, batch * m.index_stride);
  const Indices offset = IndicesOf(m.offsets, m.offset_type, m.base, batch * m.offset_stride);
  switch (m.format) {
    case CUSPARSE_FORMAT_CSR:
    case CUSPARSE_FORMAT_CSC:
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t p = offset[i], last = offset[i + 1]; p < last; ++p)
          m.format == CUSPARSE_FORMAT_CSR ? visit(i, index[p], value + p) : visit(index[p], i, value + p);
      }
      return;
    case CUSPARSE_FORMAT_COO:
      for (int64_t p = begin; p < end; ++p) visit(offset[p], index[p], value + p);
      return;
    case CUSPARSE_FORMAT_BSR:
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t p = offset[i], last = offset[i + 1]; p < last; ++p) {
          for (int64_t r = 0; r < m.block_rows; ++r) {
            for (int64_t c = 0; c < m.block_columns; ++c) {
              const int64_t place =
                  m.order == CUSPARSE_ORDER_ROW ? r * m.block_columns + c : c * m.block_rows + r;
              visit(i * m.block_rows + r, index[p] * m.block_columns + c,
                    value + p * m.block_rows * m.block_columns + place);
            }
          }
        }
      }
      return;
    case CUSPARSE_FORMAT_BLOCKED_ELL: {
      // Values are stored as a row-major matrix of m.rows by block_columns.
      const int64_t size = m.block_rows, blocks = m.block_columns / size;
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t r = i * size; r < std::min(m.rows, (i + 1) * size); ++r) {
          for (int64_t b = 0; b < blocks; ++b) {
            const int64_t stored = index[i * blocks + b];
            if (stored < 0 && kMissing == MissingBlock::kNone) continue;
            const int64_t column = std::max<int64_t>(stored, 0);
            for (int64_t c = 0; c < size; ++c)
              visit(r, column * size + c, value + r * m.block_columns + b * size + c);
          }
        }
      }
      return;
    }
    case CUSPARSE_FORMAT_SLICED_ELLPACK:
      // A slice stores its entries column after column; -1 is padding.
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = offset[i], width = (offset[i + 1] - first) / m.block_rows;
        for (int64_t c = 0; c < width; ++c) {
          for (int64_t r = 0; r < m.block_rows; ++r) {
            const int64_t p = first + c * m.block_rows + r;
            if (index[p] >= 0) visit(i * m.block_rows + r, index[p], value + p);
          }
        }
      }
      return;
  }
}

}  // namespace ptx2cpu::cusparse
