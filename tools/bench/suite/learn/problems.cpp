#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem Kmeans(Size size) {
  const uint32_t n = size == Size::kFull ? 131072 : 1001, dimensions = 34, clusters = 5;
  Problem problem{.bytes = 4.0 * n * dimensions + 8.0 * n,
                  .flops = 3.0 * n * dimensions * clusters,
                  .size = fmt::format("{} points, {} features, {} centres", n, dimensions, clusters)};
  // Where two centres are equally near, rounding decides.
  const Argument features = problem.In(Floats(size_t{n} * dimensions, 1)),
                 centres = problem.In(Floats(dimensions * clusters, 2)),
                 nearest = problem.Out<uint32_t>(n, {.share = 1e-3}),
                 distance = problem.Out<float>(n, {.relative = 1e-5}), count = problem.Value(n),
                 d = problem.Value(dimensions), k = problem.Value(clusters);
  problem.Launch("kmeans", {Blocks(n, 256)}, {256}, {features, centres, nearest, distance, count, d, k});
  return problem;
}

Problem Softmax(Size size) {
  const uint32_t rows = size == Size::kFull ? 4096 : 7, columns = size == Size::kFull ? 1024 : 700;
  const size_t n = size_t{rows} * columns;
  Problem problem{.bytes = 8.0 * static_cast<double>(n), .size = fmt::format("{} rows of {}", rows, columns)};
  const Argument in = problem.In(Floats(n, 1, -5, 5)), out = problem.Out<float>(n, {.relative = 2e-5}),
                 width = problem.Value(columns);
  problem.Value(rows);  // for OpenMP; a launch has it as its grid
  problem.Launch("softmax", {rows}, {256}, {in, out, width});
  return problem;
}

}  // namespace ptx2cpu::suite
