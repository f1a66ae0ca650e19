// What a step costs: test_runtime "[.benchmark]". Each figure is processor time of one worker, the calling
// thread.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <vector>

#include "tests/runtime/step_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

constexpr uint32_t kRounds = 20000;

// Whole warps, as code that resumes warps has it: one round counter per warp, points and words stored for 32
// lanes.
template <uint32_t kWords>
void WarpStep(ptx2cpu_block* block, uint32_t warp, uint32_t entry) {
  if (entry != PTX2CPU_ENTRY_RESUME) return;
  uint64_t& round = SlotOf(block, warp * 32, 0);
  uint32_t* points = block->points + size_t{warp} * 32;
  if (points[0] == 0) round = 0;
  if (round++ == kRounds) {
    block->live[warp] = 0;
    return;
  }
  std::fill_n(points, 32, 1u);
  for (uint32_t i = 0; i < kWords; ++i) std::fill_n(&WordOf(block, warp * 32, i), 32, 0u);
}

// Every lane on its own: a collective of all lanes of the warp per round.
struct LaneCollective {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) lane.slot(0) = 0;
    if (lane.slot(0)++ < kRounds / 10) lane.Wait(1, ~0u);
  }
};

struct GridBarrier {
  static void Lane(LaneState& lane) {
    auto* cells = ParamOf<std::atomic<uint32_t>*>(lane.block);
    if (lane.point() == 0) lane.slot(0) = 0;
    if (lane.point() == 2) return Spin(lane, cells);
    if (lane.point() == 1 && lane.thread == 0) {
      lane.slot(1) = cells[1].load();
      if (cells[0].fetch_add(1) + 1 == lane.block->nctaid[0]) {
        cells[0].store(0);
        cells[1].fetch_add(1);
      }
      return Spin(lane, cells);
    }
    if (lane.point() == 1) return lane.Wait(3, 0, 0);
    if (lane.slot(0)++ < 2000) lane.Wait(1, 0, 0);
  }
  static void Spin(LaneState& lane, std::atomic<uint32_t>* cells) {
    if (cells[1].load() == lane.slot(1)) return lane.Wait(2);
    lane.Wait(3, 0, 0);
  }
};

struct Exits {
  static void Lane(LaneState& lane) {}
};

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double SecondsOf(ptx2cpu_kernel kernel, const std::vector<ptx2cpu_point>& points, const LaunchShape& shape,
                 bool cooperative = false) {
  std::atomic<uint32_t> cells[2] = {};
  auto* pointer = cells;
  LaunchOptions options;
  options.max_workers = 1;
  options.cooperative = cooperative;
  kernel.points = points.data(), kernel.point_count = static_cast<uint32_t>(points.size());
  const double start = ThreadSeconds();
  REQUIRE_FALSE(Launch(kernel, shape, AsParameters(pointer), options));
  return ThreadSeconds() - start;
}

void Print(const char* what, double seconds, double count, const char* unit) {
  std::printf("%-62s %8.1f ns per %s\n", what, seconds / count * 1e9, unit);
}

}  // namespace

TEST_CASE("cost of a step", "[.benchmark]") {
  const ptx2cpu_point sync = {PTX2CPU_POINT_BARRIER, 0, 1, "bar.sync"};
  ptx2cpu_kernel kernel = MakeStepKernel<LaneCollective>("steps", {});
  Print("one warp in lanes, a full collective",
        SecondsOf(kernel, {kStart, {PTX2CPU_POINT_COLLECTIVE, 0, 1, "shfl"}}, {{1, 1, 1}, {32, 1, 1}}),
        kRounds / 10, "collective");
  kernel.run_step = WarpStep<2>;
  for (const uint32_t warps : {1u, 4u, 32u}) {
    char what[64];
    std::snprintf(what, sizeof what, "%u warps, block barrier", warps);
    Print(what, SecondsOf(kernel, {kStart, sync}, {{1, 1, 1}, {warps * 32, 1, 1}}), double{kRounds} * warps,
          "warp and step");
  }
  kernel.run_step = WarpStep<0>;
  Print("4 warps that yield", SecondsOf(kernel, {kStart, kYield}, {{1, 1, 1}, {128, 1, 1}}), kRounds * 4.0,
        "warp and step");
  Print("64 resident blocks that yield", SecondsOf(kernel, {kStart, kYield}, {{64, 1, 1}, {32, 1, 1}}, true),
        kRounds * 64.0, "warp and step");
  kernel.run_step = StepOf<GridBarrier>;
  Print("64 blocks of one warp, grid barrier",
        SecondsOf(kernel, {kStart, sync, kYield, sync}, {{64, 1, 1}, {32, 1, 1}}, true), 2000.0 * 64,
        "block and grid barrier");
  kernel.run_step = StepOf<Exits>;
  Print("blocks of one warp that exit at once", SecondsOf(kernel, {kStart}, {{100000, 1, 1}, {32, 1, 1}}),
        100000.0, "block");
  Print("blocks of 1024 threads that exit at once", SecondsOf(kernel, {kStart}, {{2000, 1, 1}, {1024, 1, 1}}),
        2000.0, "block");
}
