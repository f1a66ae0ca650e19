// Conversions between blocks of any two shapes; a matrix in CSR has blocks of 1 by 1. A block is stored where
// the source stores one of its elements; its other elements are zeros.
#pragma once

#include <algorithm>

#include "runtime/cuda/libraries/sparse/blocks.h"

namespace ptx2cpu::cusparse {

inline int DivideUp(int64_t value, int by) { return static_cast<int>((value + by - 1) / by); }

// The columns of blocks of `shape` in block row `block_row`, ascending. `rows`: those that the source has.
template <typename T>
void CollectBlocks(const Blocks<T>& from, int64_t rows, const BlockShape& shape, int64_t block_row,
                   std::vector<int>& found) {
  found.clear();
  const int64_t begin = block_row * shape.rows, end = std::min(rows, begin + shape.rows);
  int64_t last = -1;  // block row of the source
  for (int64_t row = begin; row < end; ++row) {
    if (row / from.shape.rows == last) continue;
    last = row / from.shape.rows;
    const int source = static_cast<int>(last);
    for (int p = from.pattern.Begin(source); p < from.pattern.End(source); ++p) {
      const int64_t first = int64_t{from.pattern.Column(p)} * from.shape.columns;
      for (int64_t c = first / shape.columns; c <= (first + from.shape.columns - 1) / shape.columns; ++c)
        found.push_back(static_cast<int>(c));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

// Writes the offsets of the result's block rows; their number of blocks. Values are not read.
template <typename T>
int CountBlocks(const Blocks<T>& from, int64_t rows, const BlockShape& shape, int base, int* offsets) {
  const int block_rows = DivideUp(rows, shape.rows);
  libraries::ForRanges(block_rows, 256, [&](int64_t begin, int64_t end) {
    std::vector<int> found;
    for (int64_t i = begin; i < end; ++i) {
      CollectBlocks(from, rows, shape, i, found);
      offsets[i + 1] = static_cast<int>(found.size());
    }
  });
  offsets[0] = base;
  for (int i = 0; i < block_rows; ++i) offsets[i + 1] += offsets[i];
  return offsets[block_rows] - base;
}

template <typename T>
struct BlocksTo {
  BlockShape shape;
  int base;
  T* value;
  int *offsets, *columns;
};
template <typename T>
void ConvertBlocks(const Blocks<const T>& from, int64_t rows, const BlocksTo<T>& to) {
  CountBlocks(from, rows, to.shape, to.base, to.offsets);
  libraries::ForRanges(DivideUp(rows, to.shape.rows), 128, [&](int64_t begin, int64_t end) {
    std::vector<int> found;
    for (int64_t block_row = begin; block_row < end; ++block_row) {
      CollectBlocks(from, rows, to.shape, block_row, found);
      const int64_t first = to.offsets[block_row] - to.base;
      for (size_t k = 0; k < found.size(); ++k)
        to.columns[first + static_cast<int64_t>(k)] = found[k] + to.base;
      std::fill_n(to.value + first * to.shape.Size(), static_cast<int64_t>(found.size()) * to.shape.Size(),
                  T{});
      for (int i = 0; i < to.shape.rows && block_row * to.shape.rows + i < rows; ++i) {
        from.ForRow(block_row * to.shape.rows + i, [&](int64_t column, const T& element) {
          const int block_column = static_cast<int>(column / to.shape.columns);
          const int64_t at = std::ranges::lower_bound(found, block_column) - found.begin();
          to.value[(first + at) * to.shape.Size() +
                   to.shape.At(i, static_cast<int>(column % to.shape.columns))] = element;
        });
      }
    }
  });
}

// Checks, then queues a conversion; the descriptor of the result must also be general.
template <typename... Conditions>
cusparseStatus_t CheckConversion(cusparseHandle_t h, cusparseDirection_t direction, int rows, int columns,
                                 const cusparseMatDescr_t from, const cusparseMatDescr_t to,
                                 Conditions... right) {
  if (const cusparseStatus_t wrong = CheckNamed(h, IsRight(direction), rows >= 0, columns >= 0,
                                                from != nullptr, to != nullptr, right...))
    return wrong;
  if (const cusparseStatus_t wrong = CheckGeneral(from)) return wrong;
  return CheckGeneral(to);
}
template <typename T>
cusparseStatus_t QueueConversion(const char* name, cusparseHandle_t h, const Blocks<const T>& from,
                                 int64_t rows, const BlocksTo<T>& to) {
  return OnStream(h, name, [=] { ConvertBlocks(from, rows, to); });
}
// `total` null: the last offset has it.
inline cusparseStatus_t QueueCount(const char* name, cusparseHandle_t h, const Blocks<const float>& from,
                                   int64_t rows, const BlockShape& shape, int base, int* offsets,
                                   int* total) {
  return WithResult(h, name, [=] {
    const int count = CountBlocks(from, rows, shape, base, offsets);
    if (total != nullptr) *total = count;
  });
}

template <typename T>
cusparseStatus_t Csr2bsr(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int m, int n,
                         const cusparseMatDescr_t descr_a, const T* values, const int* offsets,
                         const int* columns, int dim, const cusparseMatDescr_t descr_c, T* block_values,
                         int* block_offsets, int* block_columns) {
  if (const cusparseStatus_t wrong = CheckConversion(h, direction, m, n, descr_a, descr_c, dim >= 1))
    return wrong;
  return QueueConversion<T>(
      name, h, {{m, offsets, columns, descr_a->base}, {}, values}, m,
      {Shape(direction, dim, dim), descr_c->base, block_values, block_offsets, block_columns});
}
template <typename T>
cusparseStatus_t Csr2gebsrBufferSize(const char*, cusparseHandle_t h, cusparseDirection_t direction, int m,
                                     int n, const cusparseMatDescr_t descr, const T*, const int*, const int*,
                                     int rows, int columns, int* size) {
  if (const cusparseStatus_t wrong =
          CheckConversion(h, direction, m, n, descr, descr, rows >= 1, columns >= 1))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t Csr2gebsr(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int m, int n,
                           const cusparseMatDescr_t descr_a, const T* values, const int* offsets,
                           const int* columns, const cusparseMatDescr_t descr_c, T* block_values,
                           int* block_offsets, int* block_columns, int row_dim, int column_dim, void*) {
  if (const cusparseStatus_t wrong =
          CheckConversion(h, direction, m, n, descr_a, descr_c, row_dim >= 1, column_dim >= 1))
    return wrong;
  return QueueConversion<T>(
      name, h, {{m, offsets, columns, descr_a->base}, {}, values}, m,
      {Shape(direction, row_dim, column_dim), descr_c->base, block_values, block_offsets, block_columns});
}
template <typename T>
cusparseStatus_t Gebsr2csr(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int mb,
                           int nb, const cusparseMatDescr_t descr_a, const T* block_values,
                           const int* block_offsets, const int* block_columns, int row_dim, int column_dim,
                           const cusparseMatDescr_t descr_c, T* values, int* offsets, int* columns) {
  if (const cusparseStatus_t wrong =
          CheckConversion(h, direction, mb, nb, descr_a, descr_c, row_dim >= 1, column_dim >= 1))
    return wrong;
  const Blocks<const T> from{
      {mb, block_offsets, block_columns, descr_a->base}, Shape(direction, row_dim, column_dim), block_values};
  return QueueConversion<T>(name, h, from, from.rows(), {{}, descr_c->base, values, offsets, columns});
}
template <typename T>
cusparseStatus_t Bsr2csr(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int mb, int nb,
                         const cusparseMatDescr_t descr_a, const T* block_values, const int* block_offsets,
                         const int* block_columns, int dim, const cusparseMatDescr_t descr_c, T* values,
                         int* offsets, int* columns) {
  return Gebsr2csr<T>(name, h, direction, mb, nb, descr_a, block_values, block_offsets, block_columns, dim,
                      dim, descr_c, values, offsets, columns);
}
template <typename T>
cusparseStatus_t Gebsr2gebsrBufferSize(const char*, cusparseHandle_t h, cusparseDirection_t direction, int mb,
                                       int nb, int nnzb, const cusparseMatDescr_t descr, const T*, const int*,
                                       const int*, int rows_a, int columns_a, int rows_c, int columns_c,
                                       int* size) {
  if (const cusparseStatus_t wrong =
          CheckConversion(h, direction, mb, nb, descr, descr, nnzb >= 0, rows_a >= 1, columns_a >= 1,
                          rows_c >= 1, columns_c >= 1))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t Gebsr2gebsr(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int mb,
                             int nb, int nnzb, const cusparseMatDescr_t descr_a, const T* values_a,
                             const int* offsets_a, const int* columns_a, int row_dim_a, int column_dim_a,
                             const cusparseMatDescr_t descr_c, T* values_c, int* offsets_c, int* columns_c,
                             int row_dim_c, int column_dim_c, void*) {
  if (const cusparseStatus_t wrong =
          CheckConversion(h, direction, mb, nb, descr_a, descr_c, nnzb >= 0, row_dim_a >= 1,
                          column_dim_a >= 1, row_dim_c >= 1, column_dim_c >= 1))
    return wrong;
  const Blocks<const T> from{
      {mb, offsets_a, columns_a, descr_a->base}, Shape(direction, row_dim_a, column_dim_a), values_a};
  return QueueConversion<T>(
      name, h, from, from.rows(),
      {Shape(direction, row_dim_c, column_dim_c), descr_c->base, values_c, offsets_c, columns_c});
}

template <typename T>
cusparseStatus_t Gebsr2gebscBufferSize(const char*, cusparseHandle_t h, int mb, int nb, int nnzb, const T*,
                                       const int*, const int*, int rows, int columns, int* size) {
  if (const cusparseStatus_t wrong = CheckNamed(h, mb >= 0, nb >= 0, nnzb >= 0, rows >= 1, columns >= 1))
    return wrong;
  return ReportSize(size);
}
// Blocks by columns; a block's elements remain in their order.
template <typename T>
cusparseStatus_t Gebsr2gebsc(const char* name, cusparseHandle_t h, int mb, int nb, int nnzb, const T* values,
                             const int* offsets, const int* columns, int row_dim, int column_dim, T* values_c,
                             int* rows_c, int* offsets_c, cusparseAction_t action, cusparseIndexBase_t base,
                             void*) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, mb >= 0, nb >= 0, nnzb >= 0, row_dim >= 1, column_dim >= 1, IsRight(base),
                     action == CUSPARSE_ACTION_SYMBOLIC || action == CUSPARSE_ACTION_NUMERIC))
    return wrong;
  return OnStream(h, name, [=, a = Pattern{mb, offsets, columns, base}] {
    const int64_t size = int64_t{row_dim} * column_dim;
    std::vector<int> next(static_cast<size_t>(nb) + 1, 0);
    for (int p = 0; p < nnzb; ++p) ++next[static_cast<size_t>(a.Column(p)) + 1];
    for (int j = 0; j < nb; ++j) next[j + 1] += next[j];
    for (int j = 0; j <= nb; ++j) offsets_c[j] = next[j] + base;
    for (int i = 0; i < mb; ++i) {
      for (int p = a.Begin(i); p < a.End(i); ++p) {
        const int to = next[a.Column(p)]++;
        rows_c[to] = i + base;
        if (action == CUSPARSE_ACTION_NUMERIC) std::copy_n(values + p * size, size, values_c + to * size);
      }
    }
  });
}

}  // namespace ptx2cpu::cusparse
