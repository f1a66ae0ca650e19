#include "runtime/cuda/libraries/solver/refactor.h"

#include <cmath>
#include <numeric>

namespace ptx2cpu::cusolver {

std::optional<Places> PlacesOf(int n, int nnz, const int* begins, const int* indices) {
  if (begins[0] != 0 || begins[n] != nnz || !std::is_sorted(begins, begins + n + 1)) return std::nullopt;
  if (!std::all_of(indices, indices + nnz, [&](int index) { return index >= 0 && index < n; }))
    return std::nullopt;
  return Places{std::vector<int>(begins, begins + n + 1), std::vector<int>(indices, indices + nnz)};
}
bool IsOrder(int n, const int* order) {
  std::vector<bool> seen(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    if (order[i] < 0 || order[i] >= n || seen[static_cast<size_t>(order[i])]) return false;
    seen[static_cast<size_t>(order[i])] = true;
  }
  return true;
}

Places Transposed(const Places& from, std::vector<int>* of_element) {
  const auto lines = static_cast<size_t>(from.Lines());
  Places result;
  result.begins.assign(lines + 1, 0), result.indices.resize(from.indices.size());
  for (const int index : from.indices) ++result.begins[static_cast<size_t>(index) + 1];
  std::partial_sum(result.begins.begin(), result.begins.end(), result.begins.begin());
  std::vector<int> next(result.begins.begin(), result.begins.end() - 1);
  if (of_element != nullptr) of_element->resize(from.indices.size());
  for (int line = 0; line < from.Lines(); ++line) {
    for (int at = from.begins[static_cast<size_t>(line)]; at < from.begins[static_cast<size_t>(line) + 1];
         ++at) {
      const auto to = static_cast<size_t>(next[static_cast<size_t>(from.indices[static_cast<size_t>(at)])]++);
      result.indices[to] = line;
      if (of_element != nullptr) (*of_element)[to] = at;
    }
  }
  return result;
}

PlacedValues Transposed(const PlacedValues& from) {
  std::vector<int> of_element;
  PlacedValues result{.places = Transposed(from.places, &of_element)};
  for (const int at : of_element) result.values.push_back(from.values[static_cast<size_t>(at)]);
  return result;
}

void Refactorization::SetPlaces(Places a, const Places& lower, const Places& upper) {
  const int n = a.Lines();
  a_ = std::move(a);
  factors_ = {}, diagonal_.clear();
  for (int i = 0; i < n; ++i) {
    std::vector<int> row{i};
    std::ranges::copy_if(lower.Line(i), std::back_inserter(row), [&](int column) { return column < i; });
    std::ranges::copy_if(upper.Line(i), std::back_inserter(row), [&](int column) { return column > i; });
    std::ranges::sort(row);
    row.erase(std::ranges::unique(row).begin(), row.end());
    diagonal_.push_back(factors_.indices.size() +
                        static_cast<size_t>(std::ranges::lower_bound(row, i) - row.begin()));
    factors_.indices.insert(factors_.indices.end(), row.begin(), row.end());
    factors_.begins.push_back(static_cast<int>(factors_.indices.size()));
  }
}

void Refactorization::SetOrders(const int* p, const int* q) {
  const auto n = static_cast<size_t>(size());
  std::vector<int> place(n);
  for (size_t i = 0; i < n; ++i) place[static_cast<size_t>(q[i])] = static_cast<int>(i);
  of_element_.assign(a_.indices.size(), count());
  for (int i = 0; i < size(); ++i) {
    const std::span<const int> row = factors_.Line(i);
    const auto first = static_cast<size_t>(factors_.begins[static_cast<size_t>(i)]);
    const auto source = static_cast<size_t>(p[i]);
    for (int at = a_.begins[source]; at < a_.begins[source + 1]; ++at) {
      const int column = place[static_cast<size_t>(a_.indices[static_cast<size_t>(at)])];
      const auto found = std::ranges::lower_bound(row, column);
      if (found != row.end() && *found == column)
        of_element_[static_cast<size_t>(at)] = first + static_cast<size_t>(found - row.begin());
    }
  }
}

int Refactorization::Factor(const double* values, double zero, double boost, bool& boosted,
                            double* factors) const {
  std::fill_n(factors, count(), 0.0);
  for (size_t at = 0; at < of_element_.size(); ++at) {
    if (of_element_[at] < count()) factors[of_element_[at]] += values[at];
  }
  const auto n = static_cast<size_t>(size());
  std::vector<double*> element(n);  // of the row that is computed, by column; null: it has none there
  for (size_t i = 0; i < n; ++i) {
    const auto begin = static_cast<size_t>(factors_.begins[i]),
               end = static_cast<size_t>(factors_.begins[i + 1]);
    for (size_t at = begin; at < end; ++at) element[static_cast<size_t>(factors_.indices[at])] = factors + at;
    for (size_t at = begin; at < diagonal_[i]; ++at) {
      const auto k = static_cast<size_t>(factors_.indices[at]);
      factors[at] /= factors[diagonal_[k]];
      for (size_t above = diagonal_[k] + 1; above < static_cast<size_t>(factors_.begins[k + 1]); ++above) {
        double* const to = element[static_cast<size_t>(factors_.indices[above])];
        if (to != nullptr) *to -= factors[at] * factors[above];
      }
    }
    for (size_t at = begin; at < end; ++at) element[static_cast<size_t>(factors_.indices[at])] = nullptr;
    double& pivot = factors[diagonal_[i]];
    if (std::abs(pivot) > zero) continue;
    if (boost == 0) return static_cast<int>(i);
    pivot = boost, boosted = true;
  }
  return -1;
}

void Refactorization::Solve(const double* factors, const int* p, const int* q, double* x) const {
  const auto n = static_cast<size_t>(size());
  std::vector<double> y(n);
  for (size_t i = 0; i < n; ++i) {
    y[i] = x[p[i]];
    for (auto at = static_cast<size_t>(factors_.begins[i]); at < diagonal_[i]; ++at)
      y[i] -= factors[at] * y[static_cast<size_t>(factors_.indices[at])];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t at = diagonal_[i] + 1; at < static_cast<size_t>(factors_.begins[i + 1]); ++at)
      y[i] -= factors[at] * y[static_cast<size_t>(factors_.indices[at])];
    y[i] /= factors[diagonal_[i]];
  }
  for (size_t i = 0; i < n; ++i) x[q[i]] = y[i];
}

// The elements for which wanted(row, column): the factors of which L has the ones, or, where U has them, with
// the pivots moved into L.
template <typename Wanted>
PlacedValues Refactorization::Part(const double* factors, UnitFactor unit, bool unit_diagonal,
                                   const Wanted& wanted) const {
  PlacedValues part;
  const auto pivot = [&](int row) { return factors[diagonal_[static_cast<size_t>(row)]]; };
  for (int i = 0; i < size(); ++i) {
    const std::span<const int> row = factors_.Line(i);
    for (size_t k = 0; k < row.size(); ++k) {
      const int column = row[k];
      if (!wanted(i, column)) continue;
      double value = factors[static_cast<size_t>(factors_.begins[static_cast<size_t>(i)]) + k];
      if (column == i && unit_diagonal) value = 1;
      if (unit == UnitFactor::kUpper && column < i) value *= pivot(column);
      if (unit == UnitFactor::kUpper && column > i) value /= pivot(i);
      part.places.indices.push_back(column), part.values.push_back(value);
    }
    part.places.begins.push_back(static_cast<int>(part.values.size()));
  }
  return part;
}
PlacedValues Refactorization::Bundled(const double* factors, UnitFactor unit) const {
  return Part(factors, unit, false, [](int, int) { return true; });
}
PlacedValues Refactorization::Lower(const double* factors, UnitFactor unit, bool with_diagonal) const {
  return Part(factors, unit, unit == UnitFactor::kLower,
              [=](int row, int column) { return column < row || (with_diagonal && column == row); });
}
PlacedValues Refactorization::Upper(const double* factors, UnitFactor unit, bool with_diagonal) const {
  return Part(factors, unit, unit == UnitFactor::kUpper,
              [=](int row, int column) { return column > row || (with_diagonal && column == row); });
}

}  // namespace ptx2cpu::cusolver
