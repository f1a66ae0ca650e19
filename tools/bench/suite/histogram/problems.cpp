#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

Problem HistogramShared(Size size) {
  const uint32_t n = size == Size::kFull ? 16 << 20 : 70'001, blocks = size == Size::kFull ? 64 : 7;
  Problem problem{.bytes = 1.0 * n, .size = fmt::format("{} bytes, {} blocks", n, blocks)};
  const Argument in = problem.In(Bytes(n, 1)), bins = problem.InOut(std::vector<uint32_t>(256)),
                 count = problem.Value(n);
  problem.Launch("histogram_shared", {blocks}, {256}, {in, bins, count});
  return problem;
}

}  // namespace ptx2cpu::suite
