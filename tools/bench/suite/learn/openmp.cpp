// Kernels of data analysis and neural networks.
#include "tools/bench/suite/openmp.h"

#include <algorithm>

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void Kmeans(const Data& data) {
  const auto *features = data.Get<const float*>(0), *centres = data.Get<const float*>(1);
  auto* nearest = data.Get<uint32_t*>(2);
  auto* distance = data.Get<float*>(3);
  const auto n = data.Get<uint32_t>(4), dimensions = data.Get<uint32_t>(5), clusters = data.Get<uint32_t>(6);
  constexpr uint32_t kPoints = 128;  // go through all centres together
#pragma omp parallel for
  for (uint32_t first = 0; first < n; first += kPoints) {
    const uint32_t points = std::min(kPoints, n - first);
    float least[kPoints], sums[kPoints];
    uint32_t best[kPoints];
    for (uint32_t p = 0; p < points; ++p) least[p] = 3.0e38f, best[p] = 0;
    for (uint32_t c = 0; c < clusters; ++c) {
      for (uint32_t p = 0; p < points; ++p) sums[p] = 0;
      for (uint32_t f = 0; f < dimensions; ++f) {
        const float *row = features + size_t{f} * n + first, centre = centres[c * dimensions + f];
#pragma omp simd
        for (uint32_t p = 0; p < points; ++p) sums[p] += (row[p] - centre) * (row[p] - centre);
      }
#pragma omp simd
      for (uint32_t p = 0; p < points; ++p) {
        const bool nearer = sums[p] < least[p];
        least[p] = nearer ? sums[p] : least[p];
        best[p] = nearer ? c : best[p];
      }
    }
    std::copy_n(best, points, nearest + first);
    std::copy_n(least, points, distance + first);
  }
}

void Softmax(const Data& data) {
  const auto* in = data.Get<const float*>(0);
  auto* out = data.Get<float*>(1);
  const auto columns = data.Get<uint32_t>(2), rows = data.Get<uint32_t>(3);
#pragma omp parallel for
  for (uint32_t r = 0; r < rows; ++r) {
    const float* row = in + size_t{r} * columns;
    float* to = out + size_t{r} * columns;
    float most = -3.0e38f, sum = 0;
#pragma omp simd reduction(max : most)
    for (uint32_t i = 0; i < columns; ++i) most = std::max(most, row[i]);
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = 0; i < columns; ++i) {
      const float value = std::exp(row[i] - most);
      to[i] = value;
      sum += value;
    }
    const float scale = 1.0f / sum;
#pragma omp simd
    for (uint32_t i = 0; i < columns; ++i) to[i] *= scale;
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
