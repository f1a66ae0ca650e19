#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem VectorAdd(Size size) {
  const uint32_t n = size == Size::kFull ? 16 << 20 : 5003;
  Problem problem{.bytes = 12.0 * n, .flops = 1.0 * n, .size = fmt::format("{} floats", n)};
  const Argument a = problem.In(Floats(n, 1)), b = problem.In(Floats(n, 2)), c = problem.Out<float>(n),
                 count = problem.Value(n);
  problem.Launch("vecadd", {Blocks(n, 256)}, {256}, {a, b, c, count});
  return problem;
}

Problem Saxpy(Size size) {
  const uint32_t n = size == Size::kFull ? 16 << 20 : 5003;
  Problem problem{.bytes = 12.0 * n, .flops = 2.0 * n, .size = fmt::format("{} floats", n)};
  const Argument factor = problem.Value(0.25f), x = problem.In(Floats(n, 1)),
                 y = problem.InOut(Floats(n, 2), {.relative = 1e-6}), count = problem.Value(n);
  problem.Launch("saxpy", {Blocks(n, 256)}, {256}, {factor, x, y, count});
  return problem;
}

Problem Transpose(Size size) {
  const uint32_t n = size == Size::kFull ? 4096 : 96;
  Problem problem{.bytes = 8.0 * n * n, .size = fmt::format("{0} x {0}, tile 32 x 32", n)};
  const Argument in = problem.In(Floats(size_t{n} * n, 1)), out = problem.Out<float>(size_t{n} * n),
                 side = problem.Value(n);
  problem.Launch("transpose", {n / 32, n / 32}, {32, 8}, {in, out, side});
  return problem;
}

}  // namespace ptx2cpu::suite
