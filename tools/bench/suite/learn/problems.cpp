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

Problem LayerNorm(Size size) {
  const uint32_t rows = size == Size::kFull ? 4096 : 7, columns = size == Size::kFull ? 1024 : 700;
  const size_t n = size_t{rows} * columns;
  Problem problem{.bytes = 8.0 * static_cast<double>(n),
                  .flops = 8.0 * static_cast<double>(n),
                  .size = fmt::format("{} rows of {}", rows, columns)};
  const Argument in = problem.In(Floats(n, 1, -5, 5)), scale = problem.In(Floats(columns, 2)),
                 shift = problem.In(Floats(columns, 3)),
                 out = problem.Out<float>(n, {.absolute = 1e-5, .relative = 1e-5}),
                 width = problem.Value(columns);
  problem.Value(rows);  // for OpenMP
  problem.Launch("layer_norm", {rows}, {256}, {in, scale, shift, out, width});
  return problem;
}

Problem Attention(Size size) {
  const uint32_t length = size == Size::kFull ? 1024 : 128, heads = size == Size::kFull ? 8 : 2,
                 dimensions = 32;
  const size_t n = size_t{heads} * length * dimensions;
  Problem problem{.bytes = 16.0 * static_cast<double>(n),
                  .flops = 4.0 * static_cast<double>(n) * length,
                  .size = fmt::format("{} heads of {}, {} dimensions", heads, length, dimensions)};
  const Argument queries = problem.In(Floats(n, 1, -1, 1)), keys = problem.In(Floats(n, 2, -1, 1)),
                 values = problem.In(Floats(n, 3, -1, 1)),
                 out = problem.Out<float>(n, {.absolute = 1e-5, .relative = 1e-4}),
                 count = problem.Value(length);
  problem.Value(heads);  // for OpenMP
  problem.Launch("attention", {length / 64, heads}, {64}, {queries, keys, values, out, count});
  return problem;
}

}  // namespace ptx2cpu::suite
