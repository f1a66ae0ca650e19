#include "runtime/cuda/libraries/rand/quantile.h"

#include <cmath>
#include <numbers>

namespace ptx2cpu::libraries {

namespace {

// For p <= 1/2: a rational approximation (M. Abramowitz and I. Stegun, Handbook of Mathematical Functions,
// 26.2.23), then two steps of Halley's method.
double LowerQuantile(double p) {
  const double t = std::sqrt(-2 * std::log(p));
  double x =
      (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
  constexpr int kSteps = 2;
  for (int step = 0; step < kSteps; ++step) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double error = (std::erfc(-x / std::numbers::sqrt2) / 2 - p) / density;
    x -= error / (1 + x * error / 2);
  }
  return x;
}

}  // namespace

double NormalQuantile(double p) { return p <= 0.5 ? LowerQuantile(p) : -LowerQuantile(1 - p); }

}  // namespace ptx2cpu::libraries
