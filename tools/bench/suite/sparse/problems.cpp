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

}  // namespace ptx2cpu::suite
