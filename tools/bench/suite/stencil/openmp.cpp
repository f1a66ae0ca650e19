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

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
