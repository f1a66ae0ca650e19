// Rows of blocks: a sparse matrix whose entries are small dense matrices of one shape, and their products.
#pragma once

#include <limits>

#include "runtime/cuda/libraries/sparse/factor.h"

namespace ptx2cpu::cusparse {

// A block's elements, by rows or by columns. A matrix without blocks has blocks of 1 by 1.
struct BlockShape {
  int rows = 1, columns = 1;
  bool by_rows = true;
  int64_t Size() const { return int64_t{rows} * columns; }
  int64_t At(int i, int j) const { return by_rows ? int64_t{i} * columns + j : i + int64_t{j} * rows; }
};
inline BlockShape Shape(cusparseDirection_t direction, int rows, int columns) {
  return {rows, columns, direction == CUSPARSE_DIRECTION_ROW};
}

// `pattern` has the places of the blocks.
template <typename T>
struct Blocks {
  Pattern pattern;
  BlockShape shape;
  T* value;
  int64_t rows() const { return int64_t{pattern.rows} * shape.rows; }
  // visit(column, element) for the elements of a row, in the order of its blocks.
  template <typename Visit>
  void ForRow(int64_t row, const Visit& visit) const {
    const int block_row = static_cast<int>(row / shape.rows), i = static_cast<int>(row % shape.rows);
    ForRange(pattern.Begin(block_row), pattern.End(block_row), i, visit);
  }
  // The same for blocks begin ... end - 1.
  template <typename Visit>
  void ForRange(int begin, int end, int i, const Visit& visit) const {
    for (int p = begin; p < end; ++p) {
      const int64_t first = int64_t{pattern.Column(p)} * shape.columns;
      T* const block = value + p * shape.Size();
      for (int j = 0; j < shape.columns; ++j) visit(first + j, block[shape.At(i, j)]);
    }
  }
};

inline bool IsRight(cusparseDirection_t direction) {
  return direction == CUSPARSE_DIRECTION_ROW || direction == CUSPARSE_DIRECTION_COLUMN;
}
inline cusparseStatus_t CheckGeneral(const cusparseMatDescr_t descr) {
  return descr->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS
                                                     : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}
// Square blocks of a general matrix. Their elements are numbered by 32 bits where rows are factored.
template <typename... Conditions>
cusparseStatus_t CheckBlocks(cusparseHandle_t h, cusparseDirection_t direction, int mb, int nnzb,
                             const cusparseMatDescr_t descr, int dim, Conditions... right) {
  if (const cusparseStatus_t wrong =
          CheckNamed(h, IsRight(direction), mb >= 0, nnzb >= 0, descr != nullptr, dim >= 1, right...))
    return wrong;
  if (int64_t{nnzb} > std::numeric_limits<int>::max() / (int64_t{dim} * dim))
    return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
  return CheckGeneral(descr);
}

// y = alpha A x + beta y.
template <typename T>
cusparseStatus_t Bsrmv(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                       cusparseOperation_t op, int mb, int nb, int nnzb, const T* alpha,
                       const cusparseMatDescr_t descr, const T* values, const int* offsets,
                       const int* columns, int dim, const T* x, const T* beta, T* y) {
  if (const cusparseStatus_t wrong =
          CheckBlocks(h, direction, mb, nnzb, descr, dim, op == CUSPARSE_OPERATION_NON_TRANSPOSE, nb >= 0,
                      alpha != nullptr, beta != nullptr))
    return wrong;
  const Blocks<const T> a{{mb, offsets, columns, descr->base}, Shape(direction, dim, dim), values};
  return OnStream(h, name, [=, al = Scalar<T>(h, alpha), be = Scalar<T>(h, beta)] {
    libraries::ForRanges(a.rows(), 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T sum{};
        a.ForRow(i, [&](int64_t column, const T& element) { sum += element * x[column]; });
        y[i] = be() == T{} ? al() * sum : al() * sum + be() * y[i];
      }
    });
  });
}
// The same for the block rows of a mask, whose blocks end where `ends` states.
template <typename T>
cusparseStatus_t Bsrxmv(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                        cusparseOperation_t op, int masked, int mb, int nb, int nnzb, const T* alpha,
                        const cusparseMatDescr_t descr, const T* values, const int* mask, const int* offsets,
                        const int* ends, const int* columns, int dim, const T* x, const T* beta, T* y) {
  if (const cusparseStatus_t wrong =
          CheckBlocks(h, direction, mb, nnzb, descr, dim, op == CUSPARSE_OPERATION_NON_TRANSPOSE, nb >= 0,
                      masked >= 0, masked <= mb, alpha != nullptr, beta != nullptr))
    return wrong;
  if (dim == 1) return CUSPARSE_STATUS_INVALID_VALUE;  // as documented
  const Blocks<const T> a{{mb, offsets, columns, descr->base}, Shape(direction, dim, dim), values};
  return OnStream(h, name, [=, al = Scalar<T>(h, alpha), be = Scalar<T>(h, beta)] {
    libraries::ForRanges(masked, std::max(1, 256 / dim), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int row = mask[k] - a.pattern.base;
        for (int i = 0; i < dim; ++i) {
          T sum{}, &to = y[int64_t{row} * dim + i];
          a.ForRange(a.pattern.Begin(row), ends[row] - a.pattern.base, i,
                     [&](int64_t column, const T& element) { sum += element * x[column]; });
          to = be() == T{} ? al() * sum : al() * sum + be() * to;
        }
      }
    });
  });
}
// C = alpha A op(B) + beta C; B and C are dense and column-major, op no conjugate.
template <typename T>
cusparseStatus_t Bsrmm(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                       cusparseOperation_t op_a, cusparseOperation_t op_b, int mb, int n, int kb, int nnzb,
                       const T* alpha, const cusparseMatDescr_t descr, const T* values, const int* offsets,
                       const int* columns, int dim, const T* b, int ldb, const T* beta, T* c, int ldc) {
  const bool transposed = Transposes(op_b);
  if (const cusparseStatus_t wrong = CheckBlocks(
          h, direction, mb, nnzb, descr, dim, op_a == CUSPARSE_OPERATION_NON_TRANSPOSE,
          op_b == CUSPARSE_OPERATION_NON_TRANSPOSE || op_b == CUSPARSE_OPERATION_TRANSPOSE, n >= 0, kb >= 0,
          alpha != nullptr, beta != nullptr, ldb >= std::max<int64_t>(1, transposed ? n : int64_t{kb} * dim),
          ldc >= std::max<int64_t>(1, int64_t{mb} * dim)))
    return wrong;
  const Blocks<const T> a{{mb, offsets, columns, descr->base}, Shape(direction, dim, dim), values};
  return OnStream(h, name, [=, al = Scalar<T>(h, alpha), be = Scalar<T>(h, beta)] {
    libraries::ForRanges(a.rows(), std::max(1, 256 / std::max(1, n)), [&](int64_t begin, int64_t end) {
      std::vector<T> sums(static_cast<size_t>(n));
      for (int64_t i = begin; i < end; ++i) {
        std::fill(sums.begin(), sums.end(), T{});
        a.ForRow(i, [&](int64_t k, const T& element) {
          for (int j = 0; j < n; ++j)
            sums[j] += element * (transposed ? b[j + k * ldb] : b[k + int64_t{j} * ldb]);
        });
        for (int j = 0; j < n; ++j) {
          T& to = c[i + int64_t{j} * ldc];
          to = be() == T{} ? al() * sums[j] : al() * sums[j] + be() * to;
        }
      }
    });
  });
}

}  // namespace ptx2cpu::cusparse
