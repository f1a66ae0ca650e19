// Arithmetic on independent elements.
#include "tools/bench/suite/openmp.h"

#include <algorithm>
#include <vector>

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

void Nbody(const Data& data) {
  const auto* bodies = data.Get<const float*>(0);
  auto* accelerations = data.Get<float*>(1);
  const auto n = data.Get<uint32_t>(2);
  const auto softening = data.Get<float>(3);
  std::vector<float> parts(size_t{n} * 4);  // all x, all y, all z, all masses
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t part = 0; part < 4; ++part) parts[part * n + i] = bodies[4 * i + part];
  }
  const float *x = parts.data(), *y = x + n, *z = y + n, *mass = z + n;
#pragma omp parallel for
  for (uint32_t i = 0; i < n; ++i) {
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (uint32_t j = 0; j < n; ++j) {
      const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
      const float pull = mass[j] * inverse * inverse * inverse;
      ax += dx * pull;
      ay += dy * pull;
      az += dz * pull;
    }
    const float result[4] = {ax, ay, az, 0};
    std::copy_n(result, 4, accelerations + 4 * size_t{i});
  }
}

void Mandelbrot(const Data& data) {
  auto* steps = data.Get<uint32_t*>(0);
  const auto width = data.Get<uint32_t>(1), height = data.Get<uint32_t>(2), limit = data.Get<uint32_t>(6);
  const auto left = data.Get<float>(3), top = data.Get<float>(4), pixel = data.Get<float>(5);
#pragma omp parallel for schedule(dynamic, 4)
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      const float real = left + pixel * static_cast<float>(x),
                  imaginary = top + pixel * static_cast<float>(y);
      float r = 0, i = 0;
      uint32_t step = 0;
      while (step < limit && r * r + i * i < 4.0f) {
        const float next = r * r - i * i + real;
        i = 2.0f * r * i + imaginary;
        r = next;
        ++step;
      }
      steps[y * width + x] = step;
    }
  }
}

void MonteCarlo(const Data& data) {
  const auto* seeds = data.Get<const uint32_t*>(0);
  auto* hits = data.Get<uint32_t*>(1);
  const auto points = data.Get<uint32_t>(2), n = data.Get<uint32_t>(3);
  constexpr uint32_t kTogether = 64;  // generators that advance together, in vectors
  uint32_t count = 0;
#pragma omp parallel for reduction(+ : count)
  for (uint32_t first = 0; first < n; first += kTogether) {
    uint32_t states[kTogether], counts[kTogether] = {};
    const uint32_t together = std::min(kTogether, n - first);
    std::copy_n(seeds + first, together, states);
    std::fill(states + together, states + kTogether, 1u);
    for (uint32_t p = 0; p < points; ++p) {
#pragma omp simd
      for (uint32_t i = 0; i < kTogether; ++i) {
        uint32_t state = states[i];
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        states[i] = state;
        const float x = static_cast<float>(state >> 16) * (1.0f / 65536),
                    y = static_cast<float>(state & 0xffff) * (1.0f / 65536);
        counts[i] += x * x + y * y < 1.0f ? 1 : 0;
      }
    }
    for (uint32_t i = 0; i < together; ++i) count += counts[i];
  }
  *hits += count;
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
