// Sparse matrices and graphs.
#include "tools/bench/suite/openmp.h"

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void Spmv(const Data& data) {
  const auto *offsets = data.Get<const uint32_t*>(0), *columns = data.Get<const uint32_t*>(1);
  const auto *values = data.Get<const float*>(2), *x = data.Get<const float*>(3);
  auto* y = data.Get<float*>(4);
  const auto rows = data.Get<uint32_t>(5);
#pragma omp parallel for
  for (uint32_t row = 0; row < rows; ++row) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint32_t k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
  }
}

void Bfs(const Data& data) {
  const auto *offsets = data.Get<const uint32_t*>(0), *targets = data.Get<const uint32_t*>(1);
  auto* levels = data.Get<uint32_t*>(2);
  const auto nodes = data.Get<uint32_t>(3), steps = data.Get<uint32_t>(4);
  for (uint32_t now = 0; now < steps; ++now) {
#pragma omp parallel for
    for (uint32_t node = 0; node < nodes; ++node) {
      if (levels[node] != now) continue;
      for (uint32_t k = offsets[node]; k < offsets[node + 1]; ++k) {
        if (levels[targets[k]] == ~0u) levels[targets[k]] = now + 1;
      }
    }
  }
}

void ConjugateGradient(const Data& data) {
  const auto* right = data.Get<const double*>(0);
  auto *x = data.Get<double*>(1), *residual = data.Get<double*>(4), *direction = data.Get<double*>(5),
       *image = data.Get<double*>(6);
  const int n = data.Get<int>(2), points = n * n;
  const auto steps = data.Get<uint32_t>(3);
  double norm = 0;
#pragma omp parallel for simd reduction(+ : norm)
  for (int i = 0; i < points; ++i) {
    x[i] = 0;
    residual[i] = direction[i] = right[i];
    norm += right[i] * right[i];
  }
  for (uint32_t step = 0; step < steps; ++step) {
    double product = 0, next = 0;
#pragma omp parallel for reduction(+ : product)
    for (int row = 0; row < n; ++row) {
      const double *here = direction + row * n, *up = row > 0 ? here - n : nullptr,
                   *down = row + 1 < n ? here + n : nullptr;
      double* to = image + row * n;
#pragma omp simd
      for (int i = 0; i < n; ++i) to[i] = 5 * here[i];
      if (up != nullptr) {
#pragma omp simd
        for (int i = 0; i < n; ++i) to[i] -= up[i];
      }
#pragma omp simd
      for (int i = 1; i < n; ++i) to[i] -= here[i - 1];
#pragma omp simd
      for (int i = 0; i < n - 1; ++i) to[i] -= here[i + 1];
      if (down != nullptr) {
#pragma omp simd
        for (int i = 0; i < n; ++i) to[i] -= down[i];
      }
#pragma omp simd reduction(+ : product)
      for (int i = 0; i < n; ++i) product += here[i] * to[i];
    }
    const double alpha = norm / product;
#pragma omp parallel for simd reduction(+ : next)
    for (int i = 0; i < points; ++i) {
      x[i] += alpha * direction[i];
      residual[i] -= alpha * image[i];
      next += residual[i] * residual[i];
    }
    const double beta = next / norm;
#pragma omp parallel for simd
    for (int i = 0; i < points; ++i) direction[i] = residual[i] + beta * direction[i];
    norm = next;
  }
}

void ConjugateGradientLaunches(const Data& data) { ConjugateGradient(data); }

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
