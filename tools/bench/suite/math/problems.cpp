#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem BlackScholes(Size size) {
  const uint32_t n = size == Size::kFull ? 2 << 20 : 3001;
  // An option takes about 70 operations: a logarithm, an exponential, two normal distributions.
  Problem problem{.bytes = 20.0 * n, .flops = 70.0 * n, .size = fmt::format("{} options", n)};
  const Tolerance cents{.absolute = 2e-4, .relative = 1e-5};
  const Argument spot = problem.In(Floats(n, 1, 5, 30)), strike = problem.In(Floats(n, 2, 1, 100)),
                 years = problem.In(Floats(n, 3, 0.25f, 10)), call = problem.Out<float>(n, cents),
                 put = problem.Out<float>(n, cents), rate = problem.Value(0.02f),
                 volatility = problem.Value(0.3f), count = problem.Value(n);
  problem.Launch("black_scholes", {Blocks(n, 256)}, {256},
                 {spot, strike, years, call, put, rate, volatility, count});
  return problem;
}

Problem Nbody(Size size) {
  const uint32_t n = size == Size::kFull ? 4096 : 512;
  Problem problem{.bytes = 32.0 * n, .flops = 20.0 * n * n, .size = fmt::format("{} bodies", n)};
  const Argument bodies = problem.In(Floats(size_t{n} * 4, 1)),
                 accelerations = problem.Out<float>(size_t{n} * 4, {.absolute = 0.05, .relative = 1e-3}),
                 count = problem.Value(n), softening = problem.Value(0.01f);
  problem.Launch("nbody", {n / 256}, {256}, {bodies, accelerations, count, softening});
  return problem;
}

Problem Mandelbrot(Size size) {
  const uint32_t width = size == Size::kFull ? 1024 : 100, height = size == Size::kFull ? 768 : 70,
                 limit = 256;
  Problem problem{.size = fmt::format("{} x {} points, {} iterations", width, height, limit)};
  // At the edge of the set a different rounding changes the count.
  const Argument steps = problem.Out<uint32_t>(size_t{width} * height, {.share = 0.01}),
                 w = problem.Value(width), h = problem.Value(height), left = problem.Value(-2.2f),
                 top = problem.Value(-1.2f), pixel = problem.Value(3.2f / static_cast<float>(width)),
                 most = problem.Value(limit);
  problem.Launch("mandelbrot", {Blocks(width, 32), Blocks(height, 8)}, {32, 8},
                 {steps, w, h, left, top, pixel, most});
  return problem;
}

Problem MonteCarlo(Size size) {
  const uint32_t n = size == Size::kFull ? 65536 : 1001, points = size == Size::kFull ? 256 : 20;
  Problem problem{.size = fmt::format("{} threads, {} points each", n, points)};
  std::vector<uint32_t> seeds = Words(n, 1, 0x7fffffff);
  for (uint32_t& seed : seeds) ++seed;  // 0 would stay 0
  const Argument states = problem.In(seeds), hits = problem.InOut(std::vector<uint32_t>(1)),
                 each = problem.Value(points), count = problem.Value(n);
  problem.Launch("monte_carlo", {Blocks(n, 256)}, {256}, {states, hits, each, count});
  return problem;
}

}  // namespace ptx2cpu::suite
