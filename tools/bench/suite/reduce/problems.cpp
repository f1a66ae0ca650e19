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

// The sums of each `length` words.
Problem PartialSums(const char* kernel, uint32_t length, uint32_t n) {
  const uint32_t parts = n / length;
  Problem problem{.bytes = 4.0 * n, .size = fmt::format("{} words, {} of a block", n, length)};
  const Argument in = problem.In(Words(n, 1, 0xffffffff)), sums = problem.Out<uint32_t>(parts);
  problem.Value(parts), problem.Value(length);  // for OpenMP
  problem.Launch(kernel, {parts}, {256}, {in, sums});
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

Problem ReduceShared(Size size) {
  return PartialSums("reduce_shared", 512, size == Size::kFull ? 16 << 20 : 512 * 7);
}
Problem ReduceShuffle(Size size) {
  return PartialSums("reduce_shuffle", 1024, size == Size::kFull ? 16 << 20 : 1024 * 7);
}

Problem Scan(Size size) {
  const uint32_t blocks = size == Size::kFull ? 4096 : 300, n = blocks * 1024;
  Problem problem{.bytes = 16.0 * n, .size = fmt::format("{} words", n)};
  const Argument in = problem.In(Words(n, 1, 100)), out = problem.Out<uint32_t>(n), count = problem.Value(n),
                 totals = problem.Scratch(std::vector<uint32_t>(blocks)), length = problem.Value(blocks);
  problem.Launch("scan_blocks", {blocks}, {256}, {in, out, totals});
  problem.Launch("scan_totals", {1}, {256}, {totals, length});
  problem.Launch("scan_add", {blocks}, {256}, {out, totals});
  static_cast<void>(count);  // for OpenMP
  return problem;
}

Problem ScanLookBack(Size size) {
  const uint32_t blocks = size == Size::kFull ? 1024 : 50, n = blocks * 1024;
  Problem problem{.bytes = 8.0 * n, .size = fmt::format("{} words", n)};
  const Argument in = problem.In(Words(n, 1, 100)), out = problem.Out<uint32_t>(n), count = problem.Value(n),
                 next = problem.Scratch(std::vector<uint32_t>(1)),
                 states = problem.Scratch(std::vector<uint32_t>(2 * blocks));
  problem.Launch("scan_look_back", {blocks}, {256}, {in, out, next, states});
  static_cast<void>(count);  // for OpenMP
  return problem;
}

Problem ScanRows(Size size) {
  const uint32_t rows = size == Size::kFull ? 2048 : 64, length = 1024, n = rows * length;
  Problem problem{.bytes = 8.0 * n, .size = fmt::format("{} rows of {} words", rows, length)};
  const Argument in = problem.In(Words(n, 1, 100)), out = problem.Out<uint32_t>(n),
                 columns = problem.Value(length), count = problem.Value(rows);
  problem.Launch("scan_rows", {rows / 8}, {256}, {in, out, columns});
  static_cast<void>(count);  // for OpenMP
  return problem;
}

}  // namespace ptx2cpu::suite
