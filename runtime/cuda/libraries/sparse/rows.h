// A sparse matrix, as it is or transposed, by its rows: products, sums and solvers read it in this form,
// whatever the format.
#pragma once

#include <vector>

#include "runtime/cuda/libraries/sparse/values.h"

namespace ptx2cpu::cusparse {

// Row i has the entries offset[i] ... offset[i + 1] - 1.
template <typename C, typename Index>
struct Rows {
  int64_t rows, columns;
  Indices offset;
  const Index* index;
  int64_t base;
  const C* value;
  bool conjugate;
  int64_t Column(int64_t p) const { return index[p] - base; }
  C Value(int64_t p) const { return conjugate ? Conjugate(value[p]) : value[p]; }
};

// Rows in memory of our own, in the order in which the entries were visited.
template <typename C>
struct OwnRows {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> offset, index;
  std::vector<C> value;
  Rows<C, int64_t> View() const {
    return {rows, columns, {offset.data(), true, 0}, index.data(), 0, value.data(), false};
  }
};

// op(A) of matrix `batch`; only entries that keep(row, column of op(A)) accepts.
template <typename C, typename Keep>
OwnRows<C> CollectRows(const cusparseSpMatDescr& m, cusparseOperation_t op, int batch, const Keep& keep) {
  OwnRows<C> result;
  const bool transposed = Transposes(op);
  result.rows = transposed ? m.columns : m.rows;
  result.columns = transposed ? m.rows : m.columns;
  result.offset.assign(static_cast<size_t>(result.rows) + 1, 0);
  const int64_t outer = OuterSize(m);
  const auto visit_all = [&](const auto& visit) {
    ForEntries<MissingBlock::kFirst>(m, batch, 0, outer, [&](int64_t row, int64_t column, int64_t p) {
      if (transposed) std::swap(row, column);
      if (row < result.rows && column < result.columns && keep(row, column)) visit(row, column, p);
    });
  };
  visit_all([&](int64_t row, int64_t, int64_t) { ++result.offset[row + 1]; });
  for (int64_t i = 0; i < result.rows; ++i) result.offset[i + 1] += result.offset[i];
  const auto count = static_cast<size_t>(result.offset[result.rows]);
  result.index.resize(count), result.value.resize(count);
  std::vector<int64_t> next(result.offset.begin(), result.offset.end() - 1);
  WithStored(m.type, m.values, [&](const auto* stored) {
    visit_all([&](int64_t row, int64_t column, int64_t p) {
      const C value = ConvertFrom<C>(stored[p]);
      result.index[next[row]] = column;
      result.value[next[row]++] = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? Conjugate(value) : value;
    });
  });
  return result;
}

// body(rows of op(A)): the stored arrays where the format has them, a copy otherwise.
template <typename C, typename Body>
void WithRows(const cusparseSpMatDescr& m, cusparseOperation_t op, int batch, const Body& body) {
  const bool transposed = Transposes(op);
  if (m.format != (transposed ? CUSPARSE_FORMAT_CSC : CUSPARSE_FORMAT_CSR)) {
    return body(CollectRows<C>(m, op, batch, [](int64_t, int64_t) { return true; }).View());
  }
  const Indices offset = IndicesOf(m.offsets, m.offset_type, m.base, batch * m.offset_stride);
  const int64_t rows = transposed ? m.columns : m.rows, columns = transposed ? m.rows : m.columns;
  const int64_t first = batch * m.value_stride * BytesOf(m.type);
  const Operand<C> values(m.type, static_cast<const char*>(m.values) + first, offset[rows]);
  const Indices index = IndicesOf(m.indices, m.index_type, m.base, batch * m.index_stride);
  const bool conjugate = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
  if (index.wide) {
    body(Rows<C, int64_t>{rows, columns, offset, static_cast<const int64_t*>(index.data), m.base,
                          values.get(), conjugate});
  } else {
    body(Rows<C, int32_t>{rows, columns, offset, static_cast<const int32_t*>(index.data), m.base,
                          values.get(), conjugate});
  }
}

// body(begin, end) for parts of the rows with about the same number of entries each; `work` is what an entry
// costs, in multiplications.
template <typename A, typename Body>
void ForRows(const A& a, int64_t work, const Body& body) {
  constexpr int64_t kGrain = 1 << 14;
  const int64_t total = a.offset[a.rows] + a.rows;
  const int64_t parts = std::clamp<int64_t>(total * work / kGrain, 1, 4 * libraries::Threads());
  const auto first_of = [&](int64_t part) {
    int64_t low = 0, high = a.rows;
    const auto target = static_cast<int64_t>(static_cast<double>(total) * static_cast<double>(part) /
                                             static_cast<double>(parts));
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      a.offset[middle] + middle < target ? low = middle + 1 : high = middle;
    }
    return part == parts ? a.rows : low;
  };
  libraries::ForEach(parts, [&](int64_t part) {
    const int64_t begin = part == 0 ? 0 : first_of(part), end = first_of(part + 1);
    if (begin < end) body(begin, end);
  });
}

}  // namespace ptx2cpu::cusparse
