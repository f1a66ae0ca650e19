#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem Spmv(Size size) {
  const uint32_t rows = size == Size::kFull ? 65536 : 301;
  std::vector<uint32_t> offsets(1);
  for (const uint32_t extra : Words(rows, 1, 48)) offsets.push_back(offsets.back() + 24 + extra);
  const uint32_t count = offsets.back();
  Problem problem{.bytes = 8.0 * count + 8.0 * rows,
                  .flops = 2.0 * count,
                  .size = fmt::format("{} rows of 24 to 71, {} non-zeros", rows, count)};
  const Argument starts = problem.In(offsets), columns = problem.In(Words(count, 2, rows)),
                 values = problem.In(Floats(count, 3)), x = problem.In(Floats(rows, 4)),
                 y = problem.Out<float>(rows, {.relative = 1e-5}), length = problem.Value(rows);
  problem.Launch("spmv", {Blocks(rows, 8)}, {256}, {starts, columns, values, x, y, length});
  return problem;
}

Problem Bfs(Size size) {
  const uint32_t nodes = size == Size::kFull ? 262144 : 2000;
  std::vector<uint32_t> offsets(1);
  for (const uint32_t degree : Words(nodes, 1, 9)) offsets.push_back(offsets.back() + degree);
  const std::vector<uint32_t> targets = Words(offsets.back(), 2, nodes);
  // As many steps as the search needs from node 0.
  std::vector<uint32_t> levels(nodes, ~0u), front{0};
  uint32_t steps = 0;
  for (levels[0] = 0; !front.empty(); ++steps) {
    std::vector<uint32_t> next;
    for (const uint32_t node : front) {
      for (uint32_t k = offsets[node]; k < offsets[node + 1]; ++k) {
        if (levels[targets[k]] != ~0u) continue;
        levels[targets[k]] = steps + 1;
        next.push_back(targets[k]);
      }
    }
    front = std::move(next);
  }
  Problem problem{.bytes = 4.0 * nodes * steps + 4.0 * offsets.back() * 2,
                  .size = fmt::format("{} nodes, {} edges, {} steps", nodes, offsets.back(), steps)};
  std::vector<uint32_t> initial(nodes, ~0u);
  initial[0] = 0;
  const Argument starts = problem.In(offsets), ends = problem.In(targets), result = problem.InOut(initial),
                 count = problem.Value(nodes), all_steps = problem.Value(steps);
  for (uint32_t step = 0; step < steps; ++step)
    problem.Launch("bfs", {Blocks(nodes, 256)}, {256}, {starts, ends, result, count, problem.Value(step)});
  static_cast<void>(all_steps);  // for OpenMP
  return problem;
}

namespace {

// `of_launches`: a launch for each part of a step in place of one cooperative launch.
Problem Gradients(Size size, bool of_launches) {
  const uint32_t n = size == Size::kFull ? 256 : 20, steps = size == Size::kFull ? 25 : 10,
                 blocks = size == Size::kFull ? 32 : 3;
  const double points = 1.0 * n * n;
  Problem problem{.bytes = 10 * 8.0 * points * steps,
                  .flops = 19.0 * points * steps,
                  .doubles = true,
                  .size = fmt::format("{0} x {0}, {1} steps, {2} blocks", n, steps, blocks)};
  const std::vector<double> zeros(size_t{n} * n);
  const Argument right = problem.In(Doubles(size_t{n} * n, 1)),
                 x = problem.Out<double>(size_t{n} * n, {.absolute = 1e-9, .relative = 1e-9}),
                 side = problem.Value(n), count = problem.Value(steps), residual = problem.In(zeros),
                 direction = problem.In(zeros), image = problem.In(zeros),
                 parts = problem.In(std::vector<double>(512));
  if (!of_launches) {
    problem.Launch("conjugate_gradient", {blocks}, {256},
                   {right, x, residual, direction, image, parts, side, count}, true);
    return problem;
  }
  const Argument more = problem.In(std::vector<double>(256)), products = problem.In(std::vector<double>(256));
  const Argument norms[] = {parts, more};
  problem.Launch("cg_begin", {blocks}, {256}, {right, x, residual, direction, norms[0], side});
  for (uint32_t step = 0; step < steps; ++step) {
    const Argument now = norms[step % 2], next = norms[(step + 1) % 2];
    problem.Launch("cg_apply", {blocks}, {256}, {direction, image, products, side});
    problem.Launch("cg_update", {blocks}, {256}, {x, residual, direction, image, now, products, next, side});
    problem.Launch("cg_direction", {blocks}, {256}, {direction, residual, now, next, side});
  }
  return problem;
}

}  // namespace

Problem ConjugateGradient(Size size) { return Gradients(size, false); }
Problem ConjugateGradientLaunches(Size size) { return Gradients(size, true); }

}  // namespace ptx2cpu::suite
