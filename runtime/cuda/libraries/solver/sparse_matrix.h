// A sparse matrix by rows, and orders of its rows and columns that keep factors sparse.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace ptx2cpu::cusolver {

// Rows of (column, value), columns ascending, from 0 on.
template <typename T>
using SparseRows = std::vector<std::vector<std::pair<int, T>>>;

// Whether a program's arrays are a matrix: rows that follow each other, `nnz` elements, columns that exist.
inline bool IsMatrix(int rows, int columns_of_row, int nnz, const int* begins, const int* columns, int base) {
  if (begins[0] != base || begins[rows] - base != nnz) return false;
  return std::is_sorted(begins, begins + rows + 1) && std::all_of(columns, columns + nnz, [&](int column) {
           return column >= base && column - base < columns_of_row;
         });
}

// Arrays of a program as rows. `order`, of a square matrix: row and column i of the result are order[i] of
// it.
template <typename T>
SparseRows<T> RowsOf(int rows, const int* begins, const int* columns, const T* values, int base,
                     const std::vector<int>& order = {}) {
  SparseRows<T> result(static_cast<size_t>(rows));
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int>(i);
  for (int i = 0; i < rows; ++i) {
    const int from = order.empty() ? i : order[static_cast<size_t>(i)];
    auto& row = result[static_cast<size_t>(i)];
    for (int at = begins[from] - base; at < begins[from + 1] - base; ++at) {
      const int column = columns[at] - base;
      row.emplace_back(order.empty() ? column : place[static_cast<size_t>(column)], values[at]);
    }
    std::ranges::sort(row, {}, &std::pair<int, T>::first);
  }
  return result;
}

// The neighbours of each row or column in the matrix and its transpose, without itself.
using Neighbours = std::vector<std::vector<int>>;
Neighbours NeighboursOf(int n, const int* begins, const int* columns, int base);

// E. Cuthill and J. McKee, Reducing the Bandwidth of Sparse Symmetric Matrices (1969), reversed.
std::vector<int> NarrowOrder(const Neighbours& neighbours);
// The one with the fewest neighbours first, whose neighbours become each other's (W. Tinney and J. Walker,
// Direct Solutions of Sparse Network Equations by Optimally Ordered Triangular Factorization, 1967).
std::vector<int> SmallestDegreeOrder(Neighbours neighbours);

// A row with an element in each column, for as many columns as can be; how many these are. The other rows are
// those of the other columns.
int MatchRows(int n, const int* begins, const int* columns, int base, int* row_of);

}  // namespace ptx2cpu::cusolver
