// Loops over arrays of several strides at once: axes of extent 1 are left out, and axes that all arrays go
// through in one go are one axis.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/cuda/libraries/core/parallel.h"

namespace ptx2cpu::cudnn {

template <size_t kArrays>
struct Nest {
  using Places = std::array<int64_t, kArrays>;
  struct Axis {
    int64_t extent;
    Places steps;
  };
  std::vector<Axis> outer = {};
  Axis inner{1, {}};

  // Axes from the outermost to the innermost.
  void Add(int64_t extent, const Places& steps) {
    if (extent == 1) return;
    bool joins = inner.extent == 1;
    if (joins) {
      inner = {extent, steps};
      return;
    }
    joins = true;
    for (size_t n = 0; n < kArrays; ++n) joins &= inner.steps[n] == steps[n] * extent;
    if (joins) {
      inner.extent *= extent, inner.steps = steps;
    } else {
      outer.push_back(inner);
      inner = {extent, steps};
    }
  }
  int64_t Rows() const {
    int64_t rows = 1;
    for (const Axis& axis : outer) rows *= axis.extent;
    return rows;
  }
  Places PlacesOf(int64_t row) const {
    Places places{};
    for (size_t n = outer.size(); n-- > 0; row /= outer[n].extent) {
      for (size_t array = 0; array < kArrays; ++array)
        places[array] += row % outer[n].extent * outer[n].steps[array];
    }
    return places;
  }
  // row(places of its first elements in the arrays), for the rows of the inner axis begin ... end.
  template <typename Row>
  void For(int64_t begin, int64_t end, const Row& row) const {
    for (int64_t number = begin; number < end; ++number) row(PlacesOf(number));
  }
  // The same for all rows, on the threads of the pool.
  template <typename Row>
  void ForAll(const Row& row) const {
    constexpr int64_t kGrain = 16384;
    if (inner.extent == 0) return;
    libraries::ForRanges(Rows(), std::max<int64_t>(kGrain / inner.extent, 1),
                         [&](int64_t begin, int64_t end) { For(begin, end, row); });
  }
};

}  // namespace ptx2cpu::cudnn
