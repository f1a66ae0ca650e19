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

}  // namespace ptx2cpu::suite
