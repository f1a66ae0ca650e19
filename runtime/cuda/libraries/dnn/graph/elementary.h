// Elementary functions of operations on single elements.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace ptx2cpu::cudnn {

inline double Exp(double x) { return std::exp(x); }
// Within a unit of the last place, without branches: 2^n e^r, where r is at most half a logarithm of 2.
inline float Exp(float x) {
  constexpr float kLeast = -104, kGreatest = 89, kShifter = 0x1.8p23f;
  const float in = x < kLeast ? kLeast : x > kGreatest ? kGreatest : x;
  const float shifted = in * std::numbers::log2e_v<float> + kShifter;
  const float n = shifted - kShifter;
  const float r = (in - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;  // the logarithm of 2 in two parts
  float sum = 1.0f / 5040;
  sum = sum * r + 1.0f / 720, sum = sum * r + 1.0f / 120, sum = sum * r + 1.0f / 24, sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f, sum = sum * r + 1, sum = sum * r + 1;
  // Two factors, since 2^n may be no normal number.
  const uint32_t power =
      std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kShifter) + 254;  // n + 254
  const uint32_t half = power >> 1;
  return sum * std::bit_cast<float>(half << 23) * std::bit_cast<float>((power - half) << 23);
}

template <typename R>
R Sigmoid(R x) {
  return 1 / (1 + Exp(-x));
}
template <typename R>
R Softplus(R x, R beta) {
  const R product = beta * x;
  return ((product > 0 ? product : 0) + std::log1p(Exp(-std::abs(product)))) / beta;
}
template <typename R>
R SwishSlope(R x, R beta) {
  const R share = Sigmoid(beta * x);
  return share + beta * x * share * (1 - share);
}

// The normal distribution: its share below x, and its density there.
template <typename R>
R NormalShare(R x) {
  return R(.5) * (1 + std::erf(x * (std::numbers::sqrt2_v<R> / 2)));
}
template <typename R>
R NormalDensity(R x) {
  return Exp(R(-.5) * x * x) * (std::numbers::inv_sqrtpi_v<R> * std::numbers::sqrt2_v<R> / 2);
}
// D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, 2016: the approximation by tanh.
template <typename R>
R GeluArgument(R x) {
  return std::numbers::sqrt2_v<R> * std::numbers::inv_sqrtpi_v<R> * (x + R(.044715) * x * x * x);
}
template <typename R>
R GeluSlope(R x) {
  const R t = std::tanh(GeluArgument(x));
  const R inner = std::numbers::sqrt2_v<R> * std::numbers::inv_sqrtpi_v<R> * (1 + R(3 * .044715) * x * x);
  return R(.5) * (1 + t) + R(.5) * x * (1 - t * t) * inner;
}

}  // namespace ptx2cpu::cudnn
