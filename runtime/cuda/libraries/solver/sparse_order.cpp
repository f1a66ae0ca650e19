#include <set>
#include <utility>

#include "runtime/cuda/libraries/solver/sparse_matrix.h"

namespace ptx2cpu::cusolver {

namespace {

size_t At(int i) { return static_cast<size_t>(i); }

// From `start` outwards, those with few neighbours first among those that come from the same one.
std::vector<int> Outwards(const Neighbours& neighbours, int start, std::vector<bool>& seen) {
  std::vector<int> order{start};
  seen[At(start)] = true;
  for (size_t next = 0; next < order.size(); ++next) {
    std::vector<int> fresh;
    for (const int other : neighbours[At(order[next])]) {
      if (!seen[At(other)]) fresh.push_back(other), seen[At(other)] = true;
    }
    std::ranges::sort(fresh, {}, [&](int i) { return std::pair(neighbours[At(i)].size(), i); });
    order.insert(order.end(), fresh.begin(), fresh.end());
  }
  return order;
}

}  // namespace

Neighbours NeighboursOf(int n, const int* begins, const int* columns, int base) {
  Neighbours neighbours(At(n));
  for (int row = 0; row < n; ++row) {
    for (int at = begins[row] - base; at < begins[row + 1] - base; ++at) {
      const int column = columns[at] - base;
      if (column == row) continue;
      neighbours[At(row)].push_back(column), neighbours[At(column)].push_back(row);
    }
  }
  for (auto& list : neighbours) {
    std::ranges::sort(list);
    const auto rest = std::ranges::unique(list);
    list.erase(rest.begin(), rest.end());
  }
  return neighbours;
}

std::vector<int> NarrowOrder(const Neighbours& neighbours) {
  std::vector<int> order;
  std::vector<bool> done(neighbours.size());
  for (size_t i = 0; i < neighbours.size(); ++i) {
    if (done[i]) continue;
    // The last one from anywhere lies at an end; from there once more.
    int start = static_cast<int>(i);
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<bool> seen = done;
      start = Outwards(neighbours, start, seen).back();
    }
    const std::vector<int> part = Outwards(neighbours, start, done);
    order.insert(order.end(), part.begin(), part.end());
  }
  std::ranges::reverse(order);
  return order;
}

std::vector<int> SmallestDegreeOrder(Neighbours neighbours) {
  std::set<std::pair<size_t, int>> by_degree;
  for (size_t i = 0; i < neighbours.size(); ++i) by_degree.emplace(neighbours[i].size(), static_cast<int>(i));
  std::vector<int> order;
  while (!by_degree.empty()) {
    const int chosen = by_degree.begin()->second;
    by_degree.erase(by_degree.begin());
    order.push_back(chosen);
    const std::vector<int> around = std::move(neighbours[At(chosen)]);
    for (const int i : around) {
      std::vector<int>& list = neighbours[At(i)];
      by_degree.erase({list.size(), i});
      std::vector<int> merged;
      std::ranges::set_union(list, around, std::back_inserter(merged));
      std::erase_if(merged, [&](int other) { return other == i || other == chosen; });
      list = std::move(merged);
      by_degree.emplace(list.size(), i);
    }
  }
  return order;
}

int MatchRows(int n, const int* begins, const int* columns, int base, int* row_of) {
  std::fill_n(row_of, n, -1);
  std::vector<int> seen(static_cast<size_t>(n), -1), from(static_cast<size_t>(n));
  std::vector<char> is_matched(static_cast<size_t>(n));
  int count = 0;
  for (int start = 0; start < n; ++start) {
    // Columns that alternating paths from the row reach, breadth first.
    std::vector<int> rows = {start};
    int end = -1;
    for (size_t i = 0; i < rows.size() && end < 0; ++i) {
      for (int at = begins[rows[i]] - base; at < begins[rows[i] + 1] - base && end < 0; ++at) {
        const int column = columns[at] - base;
        if (std::exchange(seen[static_cast<size_t>(column)], start) == start) continue;
        from[static_cast<size_t>(column)] = rows[i];
        if (row_of[column] < 0) end = column;
        rows.push_back(row_of[column]);
      }
    }
    if (end < 0) continue;
    // Each row of the path takes the column that led to the next.
    ++count, is_matched[static_cast<size_t>(start)] = 1;
    std::vector<int> column_of(static_cast<size_t>(n), -1);
    for (int column = 0; column < n; ++column) {
      if (row_of[column] >= 0) column_of[static_cast<size_t>(row_of[column])] = column;
    }
    for (int column = end; column >= 0;) {
      const int row = from[static_cast<size_t>(column)];
      row_of[column] = row;
      column = row == start ? -1 : column_of[static_cast<size_t>(row)];
    }
  }
  int other = 0;
  for (int column = 0; column < n; ++column) {
    if (row_of[column] >= 0) continue;
    while (is_matched[static_cast<size_t>(other)] != 0) ++other;
    row_of[column] = other++;
  }
  return count;
}

}  // namespace ptx2cpu::cusolver
