// Stencils.
#include "tools/bench/suite/openmp.h"

#include <algorithm>

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void Stencil5(const Data& data) {
  const auto* in = data.Get<const float*>(0);
  auto* out = data.Get<float*>(1);
  const int n = data.Get<int>(2);
  const auto centre = data.Get<float>(3), side = data.Get<float>(4);
#pragma omp parallel for
  for (int y = 0; y < n; ++y) {
    const float *row = in + y * n, *up = in + std::max(y - 1, 0) * n, *down = in + std::min(y + 1, n - 1) * n;
    float* to = out + y * n;
    to[0] = centre * row[0] + side * (up[0] + down[0] + row[0] + row[1]);
#pragma omp simd
    for (int x = 1; x < n - 1; ++x)
      to[x] = centre * row[x] + side * (up[x] + down[x] + row[x - 1] + row[x + 1]);
    to[n - 1] = centre * row[n - 1] + side * (up[n - 1] + down[n - 1] + row[n - 2] + row[n - 1]);
  }
}

void Stencil7(const Data& data) {
  const auto* in = data.Get<const float*>(0);
  auto* out = data.Get<float*>(1);
  const int n = data.Get<int>(2);
  const auto centre = data.Get<float>(3), side = data.Get<float>(4);
  const ptrdiff_t plane = ptrdiff_t{n} * n;
#pragma omp parallel for collapse(2)
  for (int z = 0; z < n; ++z) {
    for (int y = 0; y < n; ++y) {
      const float *row = in + z * plane + ptrdiff_t{y} * n, *up = y > 0 ? row - n : row,
                  *down = y + 1 < n ? row + n : row, *before = z > 0 ? row - plane : row,
                  *after = z + 1 < n ? row + plane : row;
      float* to = out + (row - in);
      const auto point = [=](int x, int left, int right) {
        return centre * row[x] + side * (before[x] + after[x] + row[left] + row[right] + up[x] + down[x]);
      };
      to[0] = point(0, 0, 1);
#pragma omp simd
      for (int x = 1; x < n - 1; ++x) to[x] = point(x, x - 1, x + 1);
      to[n - 1] = point(n - 1, n - 2, n - 1);
    }
  }
}

void Convolution(const Data& data) {
  const auto *in = data.Get<const float*>(0), *filter = data.Get<const float*>(1);
  auto* out = data.Get<float*>(2);
  const int n = data.Get<int>(3);
#pragma omp parallel for
  for (int y = 0; y < n; ++y) {
    float* to = out + ptrdiff_t{y} * n;
    const auto point = [=](int x) {
      float sum = 0;
      for (int j = std::max(0, 2 - y); j < std::min(5, n + 2 - y); ++j) {
        for (int i = std::max(0, 2 - x); i < std::min(5, n + 2 - x); ++i)
          sum += filter[j * 5 + i] * in[ptrdiff_t{y + j - 2} * n + x + i - 2];
      }
      return sum;
    };
    if (y < 2 || y >= n - 2) {
      for (int x = 0; x < n; ++x) to[x] = point(x);
      continue;
    }
    const float* row = in + ptrdiff_t{y - 2} * n - 2;
    for (const int x : {0, 1, n - 2, n - 1}) to[x] = point(x);
#pragma omp simd
    for (int x = 2; x < n - 2; ++x) {
      float sum = 0;
      for (int j = 0; j < 5; ++j) {
        for (int i = 0; i < 5; ++i) sum += filter[j * 5 + i] * row[ptrdiff_t{j} * n + x + i];
      }
      to[x] = sum;
    }
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
