// Sparse systems: LU with exchanges of rows, QR by rotations, Cholesky. Each returns the number of the first
// pivot that is not larger than the tolerance, or -1 and the solution.
#pragma once

#include <cmath>
#include <functional>
#include <queue>

#include "runtime/cuda/libraries/core/numbers.h"
#include "runtime/cuda/libraries/solver/sparse_matrix.h"

namespace ptx2cpu::cusolver {

using libraries::Conjugate;
using libraries::Real;

template <typename T>
using SparseColumn = std::vector<std::pair<int, T>>;

// Numbers in ascending order, each once, some of which are added while others are taken.
class AscendingNumbers {
 public:
  explicit AscendingNumbers(size_t count) : in_(count) {}
  void Add(int number) {
    if (in_[static_cast<size_t>(number)]) return;
    in_[static_cast<size_t>(number)] = true;
    heap_.push(number);
  }
  bool empty() const { return heap_.empty(); }
  int Take() {
    const int number = heap_.top();
    heap_.pop();
    in_[static_cast<size_t>(number)] = false;
    return number;
  }

 private:
  std::vector<bool> in_;
  std::priority_queue<int, std::vector<int>, std::greater<>> heap_;
};

// Columns of L and U, each from those before it that it has entries of (J. Gilbert and T. Peierls, Sparse
// Partial Pivoting in Time Proportional to Arithmetic Operations, 1988; with a heap in place of their
// search).
template <typename T>
class SparseLu {
 public:
  // An element of the diagonal is the pivot if no other is larger than it by more than 1 / `threshold`: of 2,
  // none is preferred. Factors may keep the places of elements that are zero.
  explicit SparseLu(Real<T> threshold = 2, bool keeps_zeros = false)
      : threshold_(threshold), keeps_zeros_(keeps_zeros) {}

  int Factor(const SparseRows<T>& rows, Real<T> tolerance) {
    const size_t n = rows.size();
    SparseRows<T> columns(n);
    for (size_t i = 0; i < n; ++i) {
      for (const auto& [column, value] : rows[i])
        columns[static_cast<size_t>(column)].emplace_back(static_cast<int>(i), value);
    }
    pivot_of_.assign(n, -1);
    lower_.assign(n, {}), upper_.assign(n, {}), rows_.clear(), diagonal_.clear();
    std::vector<T> work(n);
    AscendingNumbers before(n);
    for (size_t k = 0; k < n; ++k) {
      if (!FactorColumn(k, columns[k], tolerance, work, before)) return static_cast<int>(k);
    }
    return -1;
  }

  void Solve(std::vector<T>& x) const {
    const size_t n = rows_.size();
    std::vector<T> y(n);
    for (size_t k = 0; k < n; ++k) {
      y[k] = x[static_cast<size_t>(rows_[k])];
      for (const auto& [row, value] : lower_[k]) x[static_cast<size_t>(row)] -= value * y[k];
    }
    for (size_t k = n; k-- > 0;) {
      y[k] /= diagonal_[k];
      for (const auto& [pivot, value] : upper_[k]) y[static_cast<size_t>(pivot)] -= value * y[k];
    }
    x = std::move(y);
  }

  const std::vector<int>& rows() const { return rows_; }  // of the matrix, by pivot
  const std::vector<T>& diagonal() const { return diagonal_; }
  // Rows of L without its diagonal, and of U, by pivots.
  SparseRows<T> Lower() const {
    SparseRows<T> result(rows_.size());
    for (size_t k = 0; k < rows_.size(); ++k) {
      for (const auto& [row, value] : lower_[k])
        result[static_cast<size_t>(pivot_of_[static_cast<size_t>(row)])].emplace_back(static_cast<int>(k),
                                                                                      value);
    }
    return result;
  }
  SparseRows<T> Upper() const {
    SparseRows<T> result(rows_.size());
    for (size_t k = 0; k < rows_.size(); ++k) {
      for (const auto& [pivot, value] : upper_[k])
        result[static_cast<size_t>(pivot)].emplace_back(static_cast<int>(k), value);
      result[k].emplace_back(static_cast<int>(k), diagonal_[k]);
    }
    return result;
  }

 private:
  bool FactorColumn(size_t k, const SparseColumn<T>& column, Real<T> tolerance, std::vector<T>& work,
                    AscendingNumbers& before) {
    std::vector<int> rest;  // rows without a pivot
    std::vector<bool>& seen = seen_;
    seen.resize(work.size());
    const auto add = [&](int row, T value) {
      const auto at = static_cast<size_t>(row);
      work[at] += value;
      if (pivot_of_[at] >= 0) {
        before.Add(pivot_of_[at]);
      } else if (!seen[at]) {
        seen[at] = true;
        rest.push_back(row);
      }
    };
    for (const auto& [row, value] : column) add(row, value);
    while (!before.empty()) {
      const int pivot = before.Take();
      T& value = work[static_cast<size_t>(rows_[static_cast<size_t>(pivot)])];
      const T factor = value;
      value = T{};
      upper_[k].emplace_back(pivot, factor);
      for (const auto& [row, of] : lower_[static_cast<size_t>(pivot)]) add(row, -of * factor);
    }
    std::ranges::sort(rest);
    int chosen = -1;
    Real<T> largest = 0;
    for (const int row : rest) {
      const Real<T> size = std::abs(work[static_cast<size_t>(row)]);
      if (size > largest) largest = size, chosen = row;
    }
    const auto own = std::ranges::find(rest, static_cast<int>(k));
    if (own != rest.end() && chosen >= 0 && std::abs(work[k]) >= threshold_ * largest) chosen = *own;
    const T pivot = chosen < 0 ? T{} : work[static_cast<size_t>(chosen)];
    const bool good = chosen >= 0 && std::abs(pivot) > tolerance;
    for (const int row : rest) {
      const auto at = static_cast<size_t>(row);
      if (good && row != chosen && (keeps_zeros_ || work[at] != T{}))
        lower_[k].emplace_back(row, work[at] / pivot);
      work[at] = T{}, seen[at] = false;
    }
    if (!good) return false;
    rows_.push_back(chosen), diagonal_.push_back(pivot);
    pivot_of_[static_cast<size_t>(chosen)] = static_cast<int>(k);
    return true;
  }

  Real<T> threshold_;
  bool keeps_zeros_;
  std::vector<int> rows_, pivot_of_;    // the row of each pivot, and the pivot of each row
  std::vector<SparseColumn<T>> lower_;  // by rows of the matrix; 1 on the diagonal
  std::vector<SparseColumn<T>> upper_;  // by pivots, without the diagonal
  std::vector<T> diagonal_;
  std::vector<bool> seen_;
};

// Rows are rotated into R one after the other (A. George and M. Heath, Solution of Sparse Linear Least
// Squares Problems Using Givens Rotations, 1980); the rotations are kept for right-hand sides. More rows than
// columns: x has the smallest residual.
template <typename T>
class SparseQr {
 public:
  explicit SparseQr(int columns = 0) : rows_(static_cast<size_t>(columns)) {}

  void Add(SparseColumn<T> row) {
    Row& added = added_.emplace_back();
    while (!row.empty()) {
      const auto at = static_cast<size_t>(row.front().first);
      if (row.front().second == T{}) {
        row.erase(row.begin());
        continue;
      }
      if (rows_[at].empty()) {
        rows_[at] = std::move(row), added.place = static_cast<int>(at);
        return;
      }
      added.rotations.push_back(Rotate(rows_[at], row));
    }
  }
  // The first row of R whose diagonal is not larger than the tolerance, or -1.
  int Singularity(Real<T> tolerance) const {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].empty() || !(std::abs(rows_[i].front().second) > tolerance)) return static_cast<int>(i);
    }
    return -1;
  }
  int Solve(const T* b, Real<T> tolerance, std::vector<T>& x) const {
    if (const int singular = Singularity(tolerance); singular >= 0) return singular;
    x = Rotated(b);
    for (size_t i = x.size(); i-- > 0;) {
      T sum = x[i];
      for (size_t at = 1; at < rows_[i].size(); ++at)
        sum -= rows_[i][at].second * x[static_cast<size_t>(rows_[i][at].first)];
      x[i] = sum / rows_[i].front().second;
    }
    return -1;
  }

 private:
  struct Rotation {
    int at;  // the row of R that was rotated with the added one
    T c, s;
  };
  struct Row {
    std::vector<Rotation> rotations;
    int place = -1;  // which row of R was left of it; none: a residual
  };

  // The right-hand side after the rotations of A.
  std::vector<T> Rotated(const T* b) const {
    std::vector<T> right(rows_.size());
    for (size_t i = 0; i < added_.size(); ++i) {
      T value = b[i];
      for (const Rotation& r : added_[i].rotations) {
        T& upper = right[static_cast<size_t>(r.at)];
        const T before = upper;
        upper = Conjugate(r.c) * before + Conjugate(r.s) * value;
        value = r.c * value - r.s * before;
      }
      if (added_[i].place >= 0) right[static_cast<size_t>(added_[i].place)] = value;
    }
    return right;
  }

  // Rotates two rows that begin at the same column so that the second no longer does.
  static Rotation Rotate(SparseColumn<T>& upper, SparseColumn<T>& row) {
    const int at = upper.front().first;
    const T r = upper.front().second, a = row.front().second;
    const Real<T> length = std::hypot(std::abs(r), std::abs(a));
    const T c = r / length, s = a / length;
    SparseColumn<T> above, below;
    for (size_t i = 0, j = 0; i < upper.size() || j < row.size();) {
      const bool first = j == row.size() || (i < upper.size() && upper[i].first <= row[j].first);
      const int column = first ? upper[i].first : row[j].first;
      const T u = i < upper.size() && upper[i].first == column ? upper[i++].second : T{};
      const T v = j < row.size() && row[j].first == column ? row[j++].second : T{};
      above.emplace_back(column, Conjugate(c) * u + Conjugate(s) * v);
      if (i + j > 2) below.emplace_back(column, c * v - s * u);  // the first one is zero
    }
    upper = std::move(above), row = std::move(below);
    return {at, c, s};
  }

  std::vector<SparseColumn<T>> rows_;
  std::vector<Row> added_;
};

// L L^H, a row of L at a time, from the lower triangle of the matrix.
template <typename T>
class SparseCholesky {
 public:
  int Factor(const SparseRows<T>& rows, Real<T> tolerance) {
    const size_t n = rows.size();
    columns_.assign(n, {}), diagonal_.clear();
    std::vector<T> work(n);
    AscendingNumbers before(n);
    for (size_t k = 0; k < n; ++k) {
      Real<T> rest = 0;
      for (const auto& [column, value] : rows[k]) {
        const auto at = static_cast<size_t>(column);
        if (at == k) rest += std::real(value);
        if (at < k) work[at] += value, before.Add(column);
      }
      while (!before.empty()) {
        const auto j = static_cast<size_t>(before.Take());
        const T value = work[j] / diagonal_[j];
        work[j] = T{};
        rest -= std::norm(value);
        for (const auto& [row, of] : columns_[j]) {
          work[static_cast<size_t>(row)] -= value * Conjugate(of);
          before.Add(row);
        }
        columns_[j].emplace_back(static_cast<int>(k), value);
      }
      if (!(rest > 0) || !(std::sqrt(rest) > tolerance)) return static_cast<int>(k);
      diagonal_.push_back(std::sqrt(rest));
    }
    return -1;
  }
  void Solve(std::vector<T>& x) const {
    for (size_t k = 0; k < x.size(); ++k) {
      x[k] /= diagonal_[k];
      for (const auto& [row, value] : columns_[k]) x[static_cast<size_t>(row)] -= value * x[k];
    }
    for (size_t k = x.size(); k-- > 0;) {
      for (const auto& [row, value] : columns_[k]) x[k] -= Conjugate(value) * x[static_cast<size_t>(row)];
      x[k] /= diagonal_[k];
    }
  }
  const std::vector<Real<T>>& diagonal() const { return diagonal_; }

 private:
  std::vector<SparseColumn<T>> columns_;  // below the diagonal
  std::vector<Real<T>> diagonal_;
};

}  // namespace ptx2cpu::cusolver
