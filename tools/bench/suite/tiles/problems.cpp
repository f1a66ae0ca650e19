#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem MatrixVector(Size size) {
  const int32_t rows = size == Size::kFull ? 4096 : 9, columns = size == Size::kFull ? 1024 : 700;
  const double cells = 1.0 * rows * columns;
  Problem problem{.bytes = 4.0 * cells,
                  .flops = 2.0 * cells,
                  .size = fmt::format("{} x {}, a block a row", rows, columns)};
  const Argument matrix = problem.In(Floats(static_cast<size_t>(cells), 1)),
                 vector = problem.In(Floats(static_cast<size_t>(columns), 2)),
                 out = problem.Out<float>(static_cast<size_t>(rows), {.relative = 1e-4}),
                 width = problem.Value(columns);
  problem.Value(rows);  // for OpenMP; a launch has it as its grid
  problem.Launch("matrix_vector", {static_cast<uint32_t>(rows)}, {256}, {matrix, vector, out, width});
  return problem;
}

Problem Distances(Size size) {
  const uint32_t n = size == Size::kFull ? 1024 : 48, dimensions = size == Size::kFull ? 64 : 32;
  Problem problem{.bytes = 4.0 * n * n + 8.0 * n * dimensions,
                  .flops = 3.0 * n * n * dimensions,
                  .size = fmt::format("{0} x {0} points, {1} dimensions, tile 16 x 16", n, dimensions)};
  const Argument a = problem.In(Floats(size_t{n} * dimensions, 1)),
                 b = problem.In(Floats(size_t{n} * dimensions, 2)),
                 out = problem.Out<float>(size_t{n} * n, {.absolute = 1e-6, .relative = 1e-4}),
                 count = problem.Value(static_cast<int32_t>(n)),
                 depth = problem.Value(static_cast<int32_t>(dimensions));
  problem.Launch("distances", {n / 16, n / 16}, {16, 16}, {a, b, out, count, depth});
  return problem;
}

Problem Pooling(Size size) {
  const uint32_t images = size == Size::kFull ? 64 : 3, side = size == Size::kFull ? 112 : 29, step = 2;
  const uint32_t out_side = (side + step - 1) / step, n = images * out_side * out_side;
  Problem problem{.bytes = 4.0 * images * side * side + 4.0 * n,
                  .size = fmt::format("{0} images of {1} x {1}, windows of 3 x 3", images, side)};
  const auto number = [&](uint32_t value) { return problem.Value(static_cast<int32_t>(value)); };
  const Argument in = problem.In(Floats(size_t{images} * side * side, 1)), out = problem.Out<float>(n),
                 count = number(n), height = number(side), width = number(side),
                 out_height = number(out_side), out_width = number(out_side), window = number(3),
                 apart = number(step);
  problem.Launch("pooling", {Blocks(n, 256)}, {256},
                 {in, out, count, height, width, out_height, out_width, window, apart});
  return problem;
}

Problem Heat(Size size) {
  const uint32_t n = size == Size::kFull ? 1024 : 75, steps = 2, inner = 16 - 2 * steps;
  Problem problem{.bytes = 12.0 * n * n,
                  .flops = 7.0 * n * n * steps,
                  .size = fmt::format("{0} x {0}, {1} steps, tile 16 x 16", n, steps)};
  const Argument sources = problem.In(Floats(size_t{n} * n, 1, 0, 0.1f)),
                 from = problem.In(Floats(size_t{n} * n, 2, 20, 90)),
                 to = problem.Out<float>(size_t{n} * n, {.relative = 1e-5}),
                 width = problem.Value(static_cast<int32_t>(n)),
                 height = problem.Value(static_cast<int32_t>(n)),
                 count = problem.Value(static_cast<int32_t>(steps)), rate = problem.Value(0.2f);
  problem.Launch("heat", {Blocks(n, inner), Blocks(n, inner)}, {16, 16},
                 {sources, from, to, width, height, count, rate});
  return problem;
}

}  // namespace ptx2cpu::suite
