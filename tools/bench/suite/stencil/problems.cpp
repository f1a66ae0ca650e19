#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem Stencil5(Size size) {
  const uint32_t n = size == Size::kFull ? 2048 : 150;
  Problem problem{
      .bytes = 8.0 * n * n, .flops = 6.0 * n * n, .size = fmt::format("{0} x {0}, blocks of 64 x 16", n)};
  const Argument in = problem.In(Floats(size_t{n} * n, 1)),
                 out = problem.Out<float>(size_t{n} * n, {.relative = 1e-5}), side = problem.Value(n),
                 centre = problem.Value(0.5f), neighbour = problem.Value(0.125f);
  problem.Launch("stencil_5", {Blocks(n, 64), Blocks(n, 16)}, {64, 16}, {in, out, side, centre, neighbour});
  return problem;
}

Problem Stencil7(Size size) {
  const uint32_t n = size == Size::kFull ? 256 : 41;
  const double points = 1.0 * n * n * n;
  Problem problem{.bytes = 8.0 * points,
                  .flops = 8.0 * points,
                  .size = fmt::format("{0} x {0} x {0}, blocks of 64 x 4", n)};
  const Argument in = problem.In(Floats(size_t{n} * n * n, 1)),
                 out = problem.Out<float>(size_t{n} * n * n, {.relative = 1e-5}), side = problem.Value(n),
                 centre = problem.Value(0.4f), neighbour = problem.Value(0.1f);
  problem.Launch("stencil_7", {Blocks(n, 64), Blocks(n, 4)}, {64, 4}, {in, out, side, centre, neighbour});
  return problem;
}

Problem Convolution(Size size) {
  const uint32_t n = size == Size::kFull ? 2048 : 75;
  Problem problem{.bytes = 8.0 * n * n,
                  .flops = 50.0 * n * n,
                  .size = fmt::format("{0} x {0}, filter 5 x 5, tile 16 x 16", n)};
  const Argument in = problem.In(Floats(size_t{n} * n, 1)), filter = problem.In(Floats(25, 2, 0, 0.1f)),
                 out = problem.Out<float>(size_t{n} * n, {.relative = 1e-5}), side = problem.Value(n);
  problem.Launch("convolution", {Blocks(n, 16), Blocks(n, 16)}, {16, 16}, {in, filter, out, side});
  return problem;
}

}  // namespace ptx2cpu::suite
