// Four times the text may take four times as long and some more; what grows with the square takes sixteen
// times as long. Processor time of one thread, the least of a few tries.
#include "tools/bench/growth.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

using namespace ptx2cpu::bench;

namespace {

constexpr double kMaxRatio = 9;  // of the times for 4n and n
constexpr double kFloor = 12;    // milliseconds: shorter times are noise
constexpr int kTries = 3;

double LeastTime(const GrowthShape& shape, uint32_t n, int tries) {
  double least = 0;
  const std::string text = shape.text(n);
  for (int i = 0; i < tries; ++i) {
    const auto cost = MeasureCompile(text, {.code = false});
    INFO(shape.name << " with " << n);
    REQUIRE(cost);
    least = i == 0 ? cost->Total() : std::min(least, cost->Total());
  }
  return least;
}

}  // namespace

TEST_CASE("compiling up to LLVM takes time in proportion to the text") {
  const bool quick = std::getenv("PTX2CPU_QUICK_TESTS") != nullptr;
  size_t number = 0;
  for (const GrowthShape& shape : GrowthShapes()) {
    if (quick && number++ % 4 != 0) continue;
    const uint32_t n = shape.first;
    double ratio = 0;
    for (int tries = 1; tries <= kTries; ++tries) {
      const double one = std::max(LeastTime(shape, n, tries), kFloor), four = LeastTime(shape, 4 * n, tries);
      ratio = four / one;
      if (ratio <= kMaxRatio) break;
    }
    INFO(shape.name << ", from " << n << " to " << 4 * n << ": " << ratio << " times as long");
    CHECK(ratio <= kMaxRatio);
  }
}

// In one long block the values are connected with each other: what walks over all of them for each takes
// sixteen times as long.
TEST_CASE("code of many branches in a row does not take time with their square") {
  if (std::getenv("PTX2CPU_QUICK_TESTS") != nullptr) return;
  const GrowthShape& branches = *std::ranges::find(GrowthShapes(), "branches", &GrowthShape::name);
  const auto time_of_code = [&](uint32_t n) {
    const auto cost = MeasureCompile(branches.text(n), {});
    REQUIRE(cost);
    return std::ranges::find(cost->stages, "llvm: code", &StageCost::stage)->milliseconds;
  };
  double ratio = 0;
  for (int tries = 0; tries < kTries && (tries == 0 || ratio > kMaxRatio); ++tries)
    ratio = time_of_code(2400) / time_of_code(600);
  CHECK(ratio <= kMaxRatio);
}
