// References of kernels whose blocks meet at grid-wide barriers.
#include <cmath>

#include "reference.h"

namespace corpus {
namespace {

// Sums as the kernels take them: each thread its points in order, a tree in each block, then the blocks in
// order. `term` adds the point's share to a thread's sum.
template <typename Term>
double SumOfBlocks(double sum, uint32_t blocks, uint32_t threads, uint32_t points, Term term) {
  for (uint32_t b = 0; b < blocks; ++b) {
    std::vector<double> tree(threads);
    for (uint32_t t = 0; t < threads; ++t) {
      for (uint32_t i = b * threads + t; i < points; i += blocks * threads) tree[t] = term(i, tree[t]);
    }
    for (uint32_t half = threads / 2; half > 0; half /= 2) {
      for (uint32_t t = 0; t < half; ++t) tree[t] += tree[t + half];
    }
    sum += tree[0];
  }
  return sum;
}

struct System {
  uint32_t width, height;
  uint32_t slices;           // devices, each with its part of the points
  uint32_t blocks, threads;  // of a slice
  double tolerance;
  uint32_t limit;
};

// Conjugate gradients from a start of zero; the number of steps.
uint32_t Solve(const System& system, const double* diagonal, const double* right, double* x) {
  const uint32_t width = system.width, points = width * system.height, part = points / system.slices;
  std::vector<double> residual(right, right + points), direction = residual, image(points);
  const auto sum = [&](auto&& term) {
    double total = 0;
    for (uint32_t s = 0; s < system.slices; ++s) {
      total = SumOfBlocks(total, system.blocks, system.threads, part,
                          [&](uint32_t i, double so_far) { return term(s * part + i, so_far); });
    }
    return total;
  };
  std::fill(x, x + points, 0.0);
  double norm = sum([&](uint32_t i, double so_far) { return std::fma(right[i], right[i], so_far); });
  uint32_t step = 0;
  for (; step < system.limit && norm > system.tolerance; ++step) {
    for (uint32_t i = 0; i < points; ++i) {
      double value = diagonal[i] * direction[i];
      if (i >= width) value -= direction[i - width];
      if (i % width > 0) value -= direction[i - 1];
      if (i % width + 1 < width) value -= direction[i + 1];
      if (i + width < points) value -= direction[i + width];
      image[i] = value;
    }
    const double alpha =
        norm / sum([&](uint32_t i, double so_far) { return std::fma(direction[i], image[i], so_far); });
    for (uint32_t i = 0; i < points; ++i) {
      x[i] = std::fma(alpha, direction[i], x[i]);
      residual[i] = std::fma(-alpha, image[i], residual[i]);
    }
    const double next =
        sum([&](uint32_t i, double so_far) { return std::fma(residual[i], residual[i], so_far); });
    const double beta = next / norm;
    for (uint32_t i = 0; i < points; ++i) direction[i] = std::fma(beta, direction[i], residual[i]);
    norm = next;
  }
  return step;
}

void ConjugateGradient(Call& call) {
  const System system{call.Value<uint32_t>(4), call.Value<uint32_t>(5), 1, call.grid[0], call.block[0],
                      call.Value<double>(7),   call.Value<uint32_t>(8)};
  const uint32_t points = system.width * system.height;
  for (uint32_t s = 0; s < call.Value<uint32_t>(6); ++s) {
    call.Out<uint32_t>(3)[s] = Solve(system, call.In<double>(0).data(), &call.In<double>(1)[s * points],
                                     &call.Out<double>(2)[s * points]);
  }
}

void TwoDeviceGradient(Call& call) {
  const System system{call.Value<uint32_t>(4), call.Value<uint32_t>(5), 2, call.grid[0], call.block[0],
                      call.Value<double>(6),   call.Value<uint32_t>(7)};
  const uint32_t steps =
      Solve(system, call.In<double>(0).data(), call.In<double>(1).data(), call.Out<double>(2).data());
  call.Out<uint32_t>(3)[0] = call.Out<uint32_t>(3)[1] = steps;
}

void GridRounds(Call& call) {
  const uint32_t size = call.Threads(), rounds = call.Value<uint32_t>(2);
  std::vector<uint32_t> now(call.In<uint32_t>(0).begin(), call.In<uint32_t>(0).begin() + size), next(size);
  const auto out = call.Out<uint32_t>(1);
  std::copy(now.begin(), now.end(), out.begin());
  for (uint32_t r = 0; r < rounds; ++r) {
    for (uint32_t i = 0; i < size; ++i) next[i] = now[(i + 1) % size] * 3 + now[(i + size - 1) % size] + r;
    now.swap(next);
    std::copy(now.begin(), now.end(), out.begin() + (r % 2 == 0 ? size : 0));
  }
}

}  // namespace

void AddGridReferences(References& references) {
  references["conjugate_gradient"] = ConjugateGradient;
  references["two_device_gradient"] = TwoDeviceGradient;
  references["grid_rounds"] = GridRounds;
}

}  // namespace corpus
