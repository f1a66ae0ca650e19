// Triangular systems: the triangle that an analysis copied, its levels, and substitution.
#pragma once

#include <variant>

#include "runtime/cuda/libraries/sparse/rows.h"

namespace ptx2cpu::cusparse {

// Rows of a level depend on rows of levels before it only (Anderson and Saad, "Solving sparse triangular
// linear systems on parallel computers", 1989).
template <typename C>
struct Triangle {
  OwnRows<C> strict;  // without the diagonal
  std::vector<C> diagonal;
  bool lower = true;  // after the operation
  std::vector<int64_t> order, level_begin;
};

template <typename C>
void FindLevels(Triangle<C>& t) {
  const int64_t n = t.strict.rows;
  std::vector<int64_t> level(static_cast<size_t>(n), 0);
  int64_t levels = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t i = t.lower ? k : n - 1 - k;
    for (int64_t p = t.strict.offset[i]; p < t.strict.offset[i + 1]; ++p)
      level[i] = std::max(level[i], level[t.strict.index[p]] + 1);
    levels = std::max(levels, level[i] + 1);
  }
  t.level_begin.assign(static_cast<size_t>(levels) + 1, 0);
  for (const int64_t l : level) ++t.level_begin[l + 1];
  for (int64_t l = 0; l < levels; ++l) t.level_begin[l + 1] += t.level_begin[l];
  t.order.resize(static_cast<size_t>(n));
  std::vector<int64_t> next(t.level_begin.begin(), t.level_begin.end());
  for (int64_t i = 0; i < n; ++i) t.order[next[level[i]]++] = i;
}

// The triangle of op(A) that the attributes of A name.
template <typename C>
Triangle<C> Analyse(const cusparseSpMatDescr& a, cusparseOperation_t op) {
  Triangle<C> t;
  t.lower = (a.fill == CUSPARSE_FILL_MODE_LOWER) != Transposes(op);
  const OwnRows<C> rows = CollectRows<C>(
      a, op, 0, [&](int64_t row, int64_t column) { return t.lower ? column <= row : column >= row; });
  t.strict.rows = rows.rows, t.strict.columns = rows.columns;
  t.strict.offset.push_back(0);
  t.diagonal.assign(static_cast<size_t>(rows.rows), a.diagonal == CUSPARSE_DIAG_TYPE_UNIT ? C(1) : C{});
  for (int64_t i = 0; i < rows.rows; ++i) {
    for (int64_t p = rows.offset[i]; p < rows.offset[i + 1]; ++p) {
      if (rows.index[p] != i) {
        t.strict.index.push_back(rows.index[p]), t.strict.value.push_back(rows.value[p]);
      } else if (a.diagonal == CUSPARSE_DIAG_TYPE_NON_UNIT) {
        t.diagonal[i] = rows.value[p];
      }
    }
    t.strict.offset.push_back(static_cast<int64_t>(t.strict.index.size()));
  }
  FindLevels(t);
  return t;
}

template <typename C>
void SolveRow(const Triangle<C>& t, int64_t i, C* x) {
  C sum = x[i];
  for (int64_t p = t.strict.offset[i]; p < t.strict.offset[i + 1]; ++p)
    sum -= t.strict.value[p] * x[t.strict.index[p]];
  x[i] = sum / t.diagonal[i];
}

// In place. Levels of many entries are worth several threads.
template <typename C>
void Solve(const Triangle<C>& t, C* x, bool parallel) {
  constexpr int64_t kEntriesOfALevel = 1 << 15;
  const int64_t n = t.strict.rows, levels = static_cast<int64_t>(t.level_begin.size()) - 1;
  if (!parallel || t.strict.offset[n] + n < kEntriesOfALevel * levels) {
    for (int64_t k = 0; k < n; ++k) SolveRow(t, t.lower ? k : n - 1 - k, x);
    return;
  }
  const int64_t each = (t.strict.offset[n] + n) / n;
  for (int64_t l = 0; l < levels; ++l) {
    const int64_t first = t.level_begin[l];
    libraries::ForRanges(t.level_begin[l + 1] - first, std::max<int64_t>(1, (1 << 13) / each),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t k = begin; k < end; ++k) SolveRow(t, t.order[first + k], x);
                         });
  }
}

// What the descriptor of a system shares with the work that is queued.
struct TriangleState {
  cusparseSpMatDescr matrix;
  cusparseOperation_t op;
  cudaDataType compute;
  // The triangle in the type that `compute` names, after the analysis has run.
  std::variant<std::monostate, Triangle<float>, Triangle<double>, Triangle<cuComplex>,
               Triangle<cuDoubleComplex>, Triangle<int32_t>>
      triangle;
};

// The work of an analysis, and of new values: all of them, or those of the diagonal.
template <typename C>
void AnalyseState(TriangleState& state) {
  state.triangle = Analyse<C>(state.matrix, state.op);
}
template <typename C>
void UpdateState(TriangleState& state, void* values, bool only_diagonal) {
  if (!only_diagonal) {
    state.matrix.values = values;
    return AnalyseState<C>(state);
  }
  auto& triangle = std::get<Triangle<C>>(state.triangle);
  for (size_t i = 0; i < triangle.diagonal.size(); ++i) {
    const C value = LoadAs<C>(state.matrix.type, values, static_cast<int64_t>(i));
    triangle.diagonal[i] = state.op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? Conjugate(value) : value;
  }
}

}  // namespace ptx2cpu::cusparse
