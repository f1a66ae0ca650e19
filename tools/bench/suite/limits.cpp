// Compiled for this machine, with vectors of its full width.
#include "tools/bench/suite/limits.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tools/bench/suite/clock.h"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ptx2cpu::suite {

namespace {

constexpr int kRounds = 7;

// Enough independent chains that the latency of a multiply-add is hidden, as vectors that stay in registers.
constexpr int kChains = 12, kVectorBytes = 64, kTrips = 100'000;

template <typename T>
double Chains(T factor) {
#ifdef __AVX512F__
  constexpr int kBytes = kVectorBytes;
#elif defined(__AVX2__)
  constexpr int kBytes = kVectorBytes / 2;
#else
  constexpr int kBytes = kVectorBytes / 4;
#endif
  typedef T Vector __attribute__((vector_size(kBytes)));
  Vector sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = Vector{} + static_cast<T>(c);
  const Vector by = Vector{} + factor, plus = Vector{} + static_cast<T>(0.25);
  for (int trip = 0; trip < kTrips; ++trip) {
#pragma clang fp contract(fast)
    for (int c = 0; c < kChains; ++c) sums[c] = sums[c] * by + plus;
  }
  volatile T sink = 0;
  for (int c = 0; c < kChains; ++c) sink = sink + sums[c][0];
  constexpr int kLanes = kBytes / sizeof(T);
  return 2.0 * kTrips * kChains * kLanes;
}

template <typename T>
double Peak(bool all_threads) {
  volatile T factor = static_cast<T>(0.5);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    double operations = 0;
    const double start = Seconds(all_threads);
    if (all_threads) {
#pragma omp parallel reduction(+ : operations)
      operations += Chains<T>(factor);
    } else {
      operations = Chains<T>(factor);
    }
    best = std::max(best, operations / (Seconds(all_threads) - start));
  }
  return best;
}

double CopyBytes(bool all_threads) {
  constexpr ptrdiff_t kCount = ptrdiff_t{64} << 20;  // floats; far beyond a cache
  std::vector<float> from(kCount, 1.0f), to(kCount, 0.0f);
  const float* in = from.data();
  float* out = to.data();
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = Seconds(all_threads);
    if (all_threads) {
#pragma omp parallel for simd
      for (ptrdiff_t i = 0; i < kCount; ++i) out[i] = in[i];
    } else {
#pragma omp simd
      for (ptrdiff_t i = 0; i < kCount; ++i) out[i] = in[i];
    }
    asm volatile("" : : "r"(out) : "memory");  // what was copied is used
    best = std::max(best, 2.0 * sizeof(float) * kCount / (Seconds(all_threads) - start));
  }
  return best;
}

}  // namespace

Limits MeasureLimits(bool all_threads) {
#ifdef _OPENMP
  omp_set_num_threads(all_threads ? omp_get_num_procs() : 1);
#endif
  return {CopyBytes(all_threads), Peak<float>(all_threads), Peak<double>(all_threads)};
}

}  // namespace ptx2cpu::suite
