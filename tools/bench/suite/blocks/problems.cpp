#include <fmt/format.h>

#include <algorithm>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

namespace {

constexpr uint32_t kTile = 16;

}  // namespace

Problem Lu(Size size) {
  const uint32_t n = size == Size::kFull ? 512 : 64;
  Problem problem{.flops = 2.0 / 3 * n * n * n, .size = fmt::format("{0} x {0}, tile 16 x 16", n)};
  std::vector<float> values = Floats(size_t{n} * n, 1);
  for (uint32_t i = 0; i < n; ++i) values[size_t{i} * n + i] += static_cast<float>(n);
  const Argument matrix = problem.InOut(values, {.absolute = 1e-5, .relative = 1e-4}),
                 side = problem.Value(n);
  for (uint32_t k = 0; k < n; k += kTile) {
    const Argument at = problem.Value(k);
    const uint32_t tiles = (n - k) / kTile - 1;
    problem.Launch("lu_diagonal", {1}, {kTile}, {matrix, side, at});
    if (tiles == 0) continue;
    problem.Launch("lu_perimeter", {tiles}, {2 * kTile}, {matrix, side, at});
    problem.Launch("lu_inner", {tiles, tiles}, {kTile, kTile}, {matrix, side, at});
  }
  return problem;
}

Problem Wavefront(Size size) {
  const uint32_t n = size == Size::kFull ? 1024 : 64, pitch = n + 1, tiles = n / kTile;
  const int penalty = 3;
  Problem problem{.bytes = 12.0 * n * n, .size = fmt::format("{0} x {0}, tiles of 16 x 16", n)};
  std::vector<uint32_t> scores(size_t{pitch} * pitch), similarity = Words(size_t{n} * n, 1, 12);
  for (uint32_t i = 0; i < pitch; ++i) scores[i] = scores[size_t{i} * pitch] = -penalty * i;
  for (uint32_t& word : similarity) word -= 4;  // -4 to 7
  const Argument table = problem.InOut(scores), alike = problem.In(similarity), side = problem.Value(n),
                 cost = problem.Value(penalty);
  for (uint32_t diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
    const uint32_t first = diagonal < tiles ? 0 : diagonal - tiles + 1, last = std::min(diagonal, tiles - 1);
    problem.Launch("wavefront", {last - first + 1}, {kTile},
                   {table, alike, side, problem.Value(diagonal), problem.Value(first), cost});
  }
  return problem;
}

}  // namespace ptx2cpu::suite
