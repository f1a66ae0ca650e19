// What a launch on all workers costs: test_runtime "[.launch-benchmark]". Grids of equal blocks, launched one
// after the other by one thread; microseconds, medians.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <vector>

#include "runtime/launch/launch.h"
#include "tests/runtime/stream_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

using Clock = std::chrono::steady_clock;

// A chain of multiplications of the length that the parameter has.
void Multiply(ptx2cpu_block* block) {
  uint64_t value = block->ctaid[0] | 1;
  for (uint64_t left = *reinterpret_cast<const uint64_t*>(block->params); left != 0; --left)
    value = value * 0x9e3779b97f4a7c15 + 1;
  volatile uint64_t sink = value;
  static_cast<void>(sink);
}
const ptx2cpu_kernel kMultiply = HandMade("multiply", Multiply, 8);

double Median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// The time of one launch.
double Microseconds(uint32_t blocks, uint64_t steps, int launches, unsigned workers) {
  std::vector<double> times;
  for (int n = 0; n < launches; ++n) {
    const auto start = Clock::now();
    const std::span<const std::byte> parameters = std::as_bytes(std::span(&steps, 1));
    REQUIRE_FALSE(Launch(kMultiply, {{blocks, 1, 1}, {32, 1, 1}}, parameters, {.max_workers = workers}));
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return Median(std::move(times));
}

}  // namespace

TEST_CASE("benchmark of launches", "[.launch-benchmark]") {
  const unsigned workers = ThreadPool::Get().size();
  std::printf("%u workers\nblocks  one worker      all  part of the whole machine\n", workers);
  for (const uint64_t steps : {100, 1000, 10000}) {
    const double block = Microseconds(64, steps, 200, 1) / 64;
    std::printf("blocks of %.2f us\n", block);
    for (const double work : {20., 50., 100., 200., 500., 2000.}) {
      const auto blocks = static_cast<uint32_t>(work / block);
      if (blocks < 2) continue;
      const double one = Microseconds(blocks, steps, 50, 1), all = Microseconds(blocks, steps, 1000, 0);
      std::printf("%6u %11.1f %8.1f %6.0f %%\n", blocks, one, all,
                  100 * one / (all * std::min(workers, blocks)));
    }
  }
}
