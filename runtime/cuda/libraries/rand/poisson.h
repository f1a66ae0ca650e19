// Poisson distributions as cuRAND draws them: one word makes one number. The word is looked up in a square
// histogram (G. Marsaglia, W. Tsang and J. Wang, Fast Generation of Discrete Random Variables, 2004) or in
// the cumulative distribution; for large means it becomes a normal number.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace ptx2cpu::libraries {

class Poisson {
 public:
  // Means from the first on have no histogram; cuRAND refuses those above the second.
  static constexpr double kMaxTableMean = 2000, kMaxMean = 400000;

  // 0 < mean <= kMaxMean.
  explicit Poisson(double mean);

  double mean() const { return mean_; }
  bool has_table() const { return mean_ < kMaxTableMean; }
  // The result for a uniform number in (0, 1], if has_table().
  uint32_t FromTable(double u) const {
    auto cell = static_cast<size_t>(static_cast<double>(cells_.size()) * u);
    if (cell == cells_.size()) --cell;
    return first_ + (u < cells_[cell].limit ? static_cast<uint32_t>(cell) : cells_[cell].other);
  }
  // What FromTable looks up, for device code: number first + cell of u, or first + other from the cell's
  // limit on. A cell more than there are is that of u = 1.
  struct Table {
    uint32_t first;
    std::vector<double> limits;
    std::vector<uint32_t> others;
  };
  Table AsTable() const;
  // The first number whose cumulative probability reaches u.
  uint32_t FromCumulative(double u) const;
  // The result for a normal number, computed with doubles or floats.
  uint32_t FromNormal(double z) const { return static_cast<uint32_t>(std::sqrt(mean_) * z + mean_ + 0.5); }
  uint32_t FromNormalSingle(float z) const {
    const auto mean = static_cast<float>(mean_);
    return static_cast<uint32_t>(std::fma(std::sqrt(mean), z, mean) + 0.5f);
  }

 private:
  // The part of a cell below `limit` is the cell's own number, the rest another one's.
  struct Cell {
    double limit;
    uint32_t other;
  };
  void MakeCells(std::vector<double> probabilities);

  double mean_;
  uint32_t first_ = 0;  // the first number whose probability is not 0 as a double
  std::vector<Cell> cells_;
  std::vector<double> cumulative_;
};

}  // namespace ptx2cpu::libraries
