// Arithmetic on independent elements.
#include "tools/bench/suite/openmp.h"

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

namespace {

// Abramowitz and Stegun 26.2.17: erfcf would keep the loop scalar.
inline float NormalDistribution(float d) {
  const float t = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
  const float polynomial =
      t * (0.31938153f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
  const float tail = 0.39894228f * std::exp(-0.5f * d * d) * polynomial;
  return d > 0.0f ? 1.0f - tail : tail;
}

}  // namespace

void BlackScholes(const Data& data) {
  const auto *spot = data.Get<const float*>(0), *strike = data.Get<const float*>(1),
             *years = data.Get<const float*>(2);
  auto *call = data.Get<float*>(3), *put = data.Get<float*>(4);
  const auto rate = data.Get<float>(5), volatility = data.Get<float>(6);
  const auto n = data.Get<int>(7);
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) {
    const float s = spot[i], k = strike[i], t = years[i];
    const float deviation = volatility * std::sqrt(t);
    const float d1 = (std::log(s / k) + (rate + 0.5f * volatility * volatility) * t) / deviation;
    const float d2 = d1 - deviation;
    const float n1 = NormalDistribution(d1), n2 = NormalDistribution(d2),
                discounted = k * std::exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
