#include "runtime/cuda/libraries/rand/poisson.h"

#include <algorithm>

namespace ptx2cpu::libraries {

Poisson::Poisson(double mean) : mean_(mean) {
  const auto probability = [mean](uint32_t k) {
    const double n = k;
    return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1));
  };
  first_ = static_cast<uint32_t>(mean);
  while (first_ > 0 && probability(first_ - 1) > 0) --first_;
  std::vector<double> probabilities;
  for (uint32_t k = first_;; ++k) {
    const double p = probability(k);
    if (p == 0) break;
    probabilities.push_back(p);
  }
  double sum = 0;
  for (const double p : probabilities) cumulative_.push_back(sum += p);
  if (has_table()) MakeCells(std::move(probabilities));
}

// Numbers that are rarer than a cell, in ascending order and around, are filled up by those that are more
// frequent, from the last one on. A number that gave so much that it is rarer than a cell is filled up when
// its turn comes.
void Poisson::MakeCells(std::vector<double> probabilities) {
  const size_t count = probabilities.size();
  const double width = 1 / static_cast<double>(count);
  std::vector<bool> full(count);
  cells_.resize(count);
  for (size_t i = 0; i < count; ++i)
    cells_[i] = {static_cast<double>(i + 1) * width, static_cast<uint32_t>(i)};
  size_t from = count - 1, to = 0;
  while (true) {
    while (from > 0 && (full[from] || probabilities[from] <= width)) --from;
    if (full[from] || probabilities[from] <= width) return;
    size_t steps = 0;
    while (steps < count && (full[to] || probabilities[to] >= width)) to = (to + 1) % count, ++steps;
    if (steps == count) return;
    cells_[to] = {static_cast<double>(to) * width + probabilities[to], static_cast<uint32_t>(from)};
    probabilities[from] -= width - probabilities[to];
    full[to] = true;
  }
}

Poisson::Table Poisson::AsTable() const {
  Table table{first_, {}, {}};
  for (const Cell& cell : cells_) table.limits.push_back(cell.limit), table.others.push_back(cell.other);
  table.limits.push_back(0), table.others.push_back(FromTable(1) - first_);
  return table;
}

uint32_t Poisson::FromCumulative(double u) const {
  const auto found = std::ranges::lower_bound(cumulative_, u);
  const auto place = std::min<size_t>(found - cumulative_.begin(), cumulative_.size() - 1);
  return first_ + static_cast<uint32_t>(place);
}

}  // namespace ptx2cpu::libraries
