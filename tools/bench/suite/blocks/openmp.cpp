// Programs of many small launches, as loops.
#include "tools/bench/suite/openmp.h"

#include <algorithm>

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void Lu(const Data& data) {
  auto* matrix = data.Get<float*>(0);
  const auto n = data.Get<uint32_t>(1);
  for (uint32_t k = 0; k < n; ++k) {
    const float* pivot = matrix + size_t{k} * n;
#pragma omp parallel for
    for (uint32_t i = k + 1; i < n; ++i) {
      float* row = matrix + size_t{i} * n;
      const float factor = row[k] /= pivot[k];
#pragma omp simd
      for (uint32_t j = k + 1; j < n; ++j) row[j] -= factor * pivot[j];
    }
  }
}

// Tiles along a diagonal of tiles do not depend on each other.
void Wavefront(const Data& data) {
  auto* scores = data.Get<int*>(0);
  const auto* similarity = data.Get<const int*>(1);
  const int n = data.Get<int>(2), penalty = data.Get<int>(3), pitch = n + 1;
  constexpr int kTile = 64;
  const int tiles = n / kTile;
  for (int diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
#pragma omp parallel for
    for (int tile = std::max(0, diagonal - tiles + 1); tile <= std::min(diagonal, tiles - 1); ++tile) {
      for (int i = tile * kTile; i < (tile + 1) * kTile; ++i) {
        for (int j = (diagonal - tile) * kTile; j < (diagonal - tile + 1) * kTile; ++j) {
          const int *up = scores + i * pitch + j, score = up[0] + similarity[i * n + j];
          scores[(i + 1) * pitch + j + 1] = std::max(score, std::max(up[1], up[pitch]) - penalty);
        }
      }
    }
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
