#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem Sgemm(Size size) {
  const uint32_t n = size == Size::kFull ? 1024 : 64;
  Problem problem{.flops = 2.0 * n * n * n, .size = fmt::format("{0} x {0}, tile 16 x 16", n)};
  const Argument a = problem.In(Floats(size_t{n} * n, 1)), b = problem.In(Floats(size_t{n} * n, 2)),
                 c = problem.Out<float>(size_t{n} * n, {.relative = 1e-4}), side = problem.Value(n);
  problem.Launch("sgemm", {n / 16, n / 16}, {16, 16}, {a, b, c, side});
  return problem;
}

Problem Dgemm(Size size) {
  const uint32_t n = size == Size::kFull ? 512 : 64;
  Problem problem{
      .flops = 2.0 * n * n * n, .doubles = true, .size = fmt::format("{0} x {0}, tile 16 x 16", n)};
  const Argument a = problem.In(Doubles(size_t{n} * n, 1)), b = problem.In(Doubles(size_t{n} * n, 2)),
                 c = problem.Out<double>(size_t{n} * n, {.relative = 1e-12}), side = problem.Value(n);
  problem.Launch("dgemm", {n / 16, n / 16}, {16, 16}, {a, b, c, side});
  return problem;
}

}  // namespace ptx2cpu::suite
