// Memory in order, and transposed.
#include "tools/bench/suite/openmp.h"

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void VectorAdd(const Data& data) {
  const auto *a = data.Get<const float*>(0), *b = data.Get<const float*>(1);
  auto* c = data.Get<float*>(2);
  const auto n = data.Get<uint32_t>(3);
#pragma omp parallel for simd
  for (uint32_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void Saxpy(const Data& data) {
  const auto factor = data.Get<float>(0);
  const auto* x = data.Get<const float*>(1);
  auto* y = data.Get<float*>(2);
  const auto n = data.Get<uint32_t>(3);
#pragma omp parallel for simd
  for (uint32_t i = 0; i < n; ++i) y[i] = factor * x[i] + y[i];
}

void Transpose(const Data& data) {
  const auto* in = data.Get<const float*>(0);
  auto* out = data.Get<float*>(1);
  const auto n = data.Get<uint32_t>(2);
  constexpr uint32_t kTile = 32;
#pragma omp parallel for
  for (uint32_t y = 0; y < n; y += kTile) {
    for (uint32_t x = 0; x < n; x += kTile) {
      float tile[kTile][kTile];
      for (uint32_t j = 0; j < kTile; ++j) {
        for (uint32_t i = 0; i < kTile; ++i) tile[i][j] = in[(y + j) * n + x + i];
      }
      for (uint32_t j = 0; j < kTile; ++j) {
        for (uint32_t i = 0; i < kTile; ++i) out[(x + j) * n + y + i] = tile[j][i];
      }
    }
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
