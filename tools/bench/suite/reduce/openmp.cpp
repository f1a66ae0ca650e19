// Sums and prefix sums.
#include "tools/bench/suite/openmp.h"

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

namespace {

float Sum(const float* in, uint32_t n) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (uint32_t i = 0; i < n; ++i) sum += in[i];
  return sum;
}

}  // namespace

void SumGridStride(const Data& data) {
  const auto* in = data.Get<const float*>(0);
  auto* sum = data.Get<float*>(1);
  const auto n = data.Get<uint32_t>(2), launches = data.Get<uint32_t>(3);
  for (uint32_t launch = 0; launch < launches; ++launch) *sum += Sum(in, n);
}

void SumCached(const Data& data) { SumGridStride(data); }

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
