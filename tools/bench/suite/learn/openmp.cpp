// Kernels of data analysis and neural networks.
#include "tools/bench/suite/openmp.h"

#include <algorithm>
#include <vector>

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

void LayerNorm(const Data& data) {
  const auto *in = data.Get<const float*>(0), *scale = data.Get<const float*>(1),
             *shift = data.Get<const float*>(2);
  auto* out = data.Get<float*>(3);
  const auto columns = data.Get<uint32_t>(4), rows = data.Get<uint32_t>(5);
#pragma omp parallel for
  for (uint32_t r = 0; r < rows; ++r) {
    const float* row = in + size_t{r} * columns;
    float* to = out + size_t{r} * columns;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (uint32_t i = 0; i < columns; ++i) sum += row[i];
    const float mean = sum / static_cast<float>(columns);
#pragma omp simd reduction(+ : squares)
    for (uint32_t i = 0; i < columns; ++i) squares += (row[i] - mean) * (row[i] - mean);
    const float inverse = 1.0f / std::sqrt(squares / static_cast<float>(columns) + 1e-5f);
#pragma omp simd
    for (uint32_t i = 0; i < columns; ++i) to[i] = (row[i] - mean) * inverse * scale[i] + shift[i];
  }
}

// A query at a time: all its scores, then the weighted sums. Keys and values are transposed once for a head.
void Attention(const Data& data) {
  constexpr uint32_t kDimensions = 32;
  const auto *queries = data.Get<const float*>(0), *keys = data.Get<const float*>(1),
             *values = data.Get<const float*>(2);
  auto* out = data.Get<float*>(3);
  const auto length = data.Get<uint32_t>(4), heads = data.Get<uint32_t>(5);
#pragma omp parallel
  {
    std::vector<float> keys_of(size_t{kDimensions} * length), values_of(size_t{kDimensions} * length),
        scores(length);
#pragma omp for
    for (uint32_t head = 0; head < heads; ++head) {
      const size_t first = size_t{head} * length * kDimensions;
      for (uint32_t j = 0; j < length; ++j) {
        for (uint32_t d = 0; d < kDimensions; ++d) {
          keys_of[d * length + j] = keys[first + j * kDimensions + d];
          values_of[d * length + j] = values[first + j * kDimensions + d];
        }
      }
      for (uint32_t query = 0; query < length; ++query) {
        const float* q = queries + first + query * kDimensions;
        float *weights = scores.data(), most = -3.0e38f, total = 0;
        for (uint32_t j = 0; j < length; ++j) weights[j] = 0;
        for (uint32_t d = 0; d < kDimensions; d += 4) {
          const float *r0 = &keys_of[d * length], *r1 = r0 + length, *r2 = r1 + length, *r3 = r2 + length;
          const float q0 = q[d] * 0.17677669f, q1 = q[d + 1] * 0.17677669f, q2 = q[d + 2] * 0.17677669f,
                      q3 = q[d + 3] * 0.17677669f;
#pragma omp simd
          for (uint32_t j = 0; j < length; ++j)
            weights[j] += q0 * r0[j] + q1 * r1[j] + q2 * r2[j] + q3 * r3[j];
        }
#pragma omp simd reduction(max : most)
        for (uint32_t j = 0; j < length; ++j) most = std::max(most, weights[j]);
#pragma omp simd reduction(+ : total)
        for (uint32_t j = 0; j < length; ++j) {
          weights[j] = std::exp(weights[j] - most);
          total += weights[j];
        }
        for (uint32_t d = 0; d < kDimensions; ++d) {
          const float* row = &values_of[d * length];
          float sum = 0;
#pragma omp simd reduction(+ : sum)
          for (uint32_t j = 0; j < length; ++j) sum += weights[j] * row[j];
          out[first + query * kDimensions + d] = sum / total;
        }
      }
    }
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
