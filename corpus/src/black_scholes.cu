// European option prices by the Black-Scholes formula: hardware approximations of log and exp (compared with a
// tolerance), correctly rounded division and square root, a polynomial for the normal distribution.
static __device__ float NormalDistribution(float d) {
  // Abramowitz and Stegun 26.2.17, |error| < 7.5e-8.
  float t = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float polynomial =
      t * (0.31938153f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
  float tail = 0.39894228f * __expf(-0.5f * d * d) * polynomial;
  return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* spot, const float* strike, const float* years, float* call,
                                         float* put, float rate, float volatility, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float deviation = volatility * sqrtf(years[i]);
  float d1 = (__logf(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / deviation;
  float d2 = d1 - deviation;
  float discounted = strike[i] * __expf(-rate * years[i]);
  call[i] = spot[i] * NormalDistribution(d1) - discounted * NormalDistribution(d2);
  put[i] = discounted * NormalDistribution(-d2) - spot[i] * NormalDistribution(-d1);
}
