// Kernels of rows, tiles and windows of matrices.
#include "tools/bench/suite/openmp.h"

#include <algorithm>
#include <vector>

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void MatrixVector(const Data& data) {
  const auto *matrix = data.Get<const float*>(0), *vector = data.Get<const float*>(1);
  auto* out = data.Get<float*>(2);
  const auto columns = data.Get<int32_t>(3), rows = data.Get<int32_t>(4);
#pragma omp parallel for
  for (int32_t r = 0; r < rows; ++r) {
    const float* row = matrix + static_cast<size_t>(r) * static_cast<size_t>(columns);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int32_t c = 0; c < columns; ++c) sum += row[c] * vector[c];
    out[r] = sum;
  }
}

void Distances(const Data& data) {
  const auto *a = data.Get<const float*>(0), *b = data.Get<const float*>(1);
  auto* out = data.Get<float*>(2);
  const auto count = data.Get<int32_t>(3), dimensions = data.Get<int32_t>(4);
#pragma omp parallel for
  for (int32_t i = 0; i < count; ++i) {
    const float* x = a + i * dimensions;
    for (int32_t j = 0; j < count; ++j) {
      const float* y = b + j * dimensions;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int32_t d = 0; d < dimensions; ++d) sum += (x[d] - y[d]) * (x[d] - y[d]);
      out[i * count + j] = std::sqrt(sum);
    }
  }
}

void Pooling(const Data& data) {
  const auto* in = data.Get<const float*>(0);
  auto* out = data.Get<float*>(1);
  const auto height = data.Get<int32_t>(3), width = data.Get<int32_t>(4), out_height = data.Get<int32_t>(5),
             out_width = data.Get<int32_t>(6), window = data.Get<int32_t>(7), step = data.Get<int32_t>(8);
  const int32_t rows = data.Get<int32_t>(2) / out_width;
#pragma omp parallel for
  for (int32_t r = 0; r < rows; ++r) {
    const float* image = in + r / out_height * height * width;
    float* to = out + r * out_width;
    const int32_t top = r % out_height * step, bottom = std::min(top + window, height);
    for (int32_t column = 0; column < out_width; ++column) {
      const int32_t left = column * step, right = std::min(left + window, width);
      float most = -3.0e38f;
      for (int32_t y = top; y < bottom; ++y) {
        for (int32_t x = left; x < right; ++x) most = std::max(most, image[y * width + x]);
      }
      to[column] = most;
    }
  }
}

void Heat(const Data& data) {
  const auto* sources = data.Get<const float*>(0);
  const auto* from = data.Get<const float*>(1);
  auto* to = data.Get<float*>(2);
  const auto width = data.Get<int32_t>(3), height = data.Get<int32_t>(4), steps = data.Get<int32_t>(5);
  const auto rate = data.Get<float>(6);
  std::vector<float> between[2];
  for (int32_t s = 0; s < steps; ++s) {
    between[s % 2].resize(static_cast<size_t>(width) * static_cast<size_t>(height));
    float* next = s + 1 == steps ? to : between[s % 2].data();
#pragma omp parallel for
    for (int32_t y = 0; y < height; ++y) {
      const float *here = from + y * width, *north = from + std::max(y - 1, 0) * width,
                  *south = from + std::min(y + 1, height - 1) * width, *source = sources + y * width;
      float* row = next + y * width;
      const auto cell = [&](int32_t x, int32_t west, int32_t east) {
        row[x] =
            here[x] + rate * (north[x] + south[x] + here[west] + here[east] - 4.0f * here[x]) + source[x];
      };
      cell(0, 0, 1);
#pragma omp simd
      for (int32_t x = 1; x < width - 1; ++x) cell(x, x - 1, x + 1);
      cell(width - 1, width - 2, width - 1);
    }
    from = next;
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
