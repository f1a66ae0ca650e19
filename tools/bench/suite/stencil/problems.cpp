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

}  // namespace ptx2cpu::suite
