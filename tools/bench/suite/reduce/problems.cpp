#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

namespace {

Problem GridStride(uint32_t n, uint32_t blocks, uint32_t launches) {
  Problem problem{.bytes = 4.0 * n * launches,
                  .flops = 1.0 * n * launches,
                  .size = fmt::format("{} floats, {} blocks, {} launches", n, blocks, launches)};
  const Argument in = problem.In(Floats(n, 1)),
                 sum = problem.InOut(std::vector<float>(1), {.relative = 1e-3}), count = problem.Value(n);
  problem.Value(launches);  // for OpenMP
  for (uint32_t i = 0; i < launches; ++i)
    problem.Launch("sum_grid_stride", {blocks}, {256}, {in, sum, count});
  return problem;
}

}  // namespace

Problem SumGridStride(Size size) {
  return size == Size::kFull ? GridStride(16 << 20, 256, 1) : GridStride(30'011, 5, 1);
}

// Input that stays in a cache.
Problem SumCached(Size size) {
  return size == Size::kFull ? GridStride(1 << 18, 256, 64) : GridStride(5'003, 5, 3);
}

}  // namespace ptx2cpu::suite
