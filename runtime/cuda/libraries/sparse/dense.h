// A stored dense matrix as values of the type that a function computes with.
#pragma once

#include "runtime/cuda/libraries/sparse/values.h"

namespace ptx2cpu::cusparse {

struct Shape {
  int64_t rows, columns;
};
inline Shape ShapeOf(const cusparseDnMatDescr& m, cusparseOperation_t op) {
  return Transposes(op) ? Shape{m.columns, m.rows} : Shape{m.rows, m.columns};
}
inline Shape ShapeOf(const cusparseSpMatDescr& m, cusparseOperation_t op) {
  return Transposes(op) ? Shape{m.columns, m.rows} : Shape{m.rows, m.columns};
}
// Values from the first one to the last one, with those between lines.
inline int64_t Extent(const cusparseDnMatDescr& m) {
  const bool by_columns = m.order == CUSPARSE_ORDER_COL;
  const int64_t lines = by_columns ? m.columns : m.rows, length = by_columns ? m.rows : m.columns;
  return lines == 0 ? 0 : (lines - 1) * m.ld + length;
}

// op(M), which is read. Element (i, j) is data[i * down + j * across].
template <typename C>
struct DenseOperand {
  DenseOperand(const cusparseDnMatDescr& m, cusparseOperation_t op, int batch)
      : values(m.type, static_cast<const char*>(m.values) + batch * m.stride * BytesOf(m.type), Extent(m)),
        data(values.get()),
        down((m.order == CUSPARSE_ORDER_COL) == Transposes(op) ? m.ld : 1),
        across((m.order == CUSPARSE_ORDER_COL) == Transposes(op) ? 1 : m.ld),
        conjugate(op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) {}
  C operator()(int64_t i, int64_t j) const {
    const C value = data[i * down + j * across];
    return conjugate ? Conjugate(value) : value;
  }
  Operand<C> values;
  const C* data;
  int64_t down, across;
  bool conjugate;
};

// A matrix that is written: element (i, j) becomes value + beta * element; what is there is not read if beta
// is 0.
template <typename C>
struct DenseResult {
  DenseResult(const cusparseDnMatDescr& m, int batch)
      : type(m.type),
        data(static_cast<char*>(m.values) + batch * m.stride * BytesOf(m.type)),
        down(m.order == CUSPARSE_ORDER_COL ? 1 : m.ld),
        across(m.order == CUSPARSE_ORDER_COL ? m.ld : 1) {}
  void Add(int64_t i, int64_t j, C value, C beta) const {
    const int64_t at = i * down + j * across;
    if (type == kTypeOf<C>) {
      C& to = static_cast<C*>(data)[at];
      to = beta == C{} ? value : value + beta * to;
    } else {
      StoreAs(type, data, at, beta == C{} ? value : value + beta * LoadAs<C>(type, data, at));
    }
  }
  cudaDataType type;
  void* data;
  int64_t down, across;
};

}  // namespace ptx2cpu::cusparse
