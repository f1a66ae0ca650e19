#include <fmt/format.h>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

namespace {

Problem Histogram(const char* kernel, uint32_t n, uint32_t blocks) {
  Problem problem{.bytes = 1.0 * n, .size = fmt::format("{} bytes, {} blocks", n, blocks)};
  const Argument in = problem.In(Bytes(n, 1)), bins = problem.InOut(std::vector<uint32_t>(256)),
                 count = problem.Value(n);
  problem.Launch(kernel, {blocks}, {256}, {in, bins, count});
  return problem;
}

}  // namespace

Problem HistogramShared(Size size) {
  return size == Size::kFull ? Histogram("histogram_shared", 16 << 20, 64)
                             : Histogram("histogram_shared", 70'001, 7);
}
Problem HistogramGlobal(Size size) {
  return size == Size::kFull ? Histogram("histogram_global", 4 << 20, 64)
                             : Histogram("histogram_global", 70'001, 7);
}

}  // namespace ptx2cpu::suite
