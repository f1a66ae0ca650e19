// The C interface: ordinary, cooperative and cluster launches, and its messages when they cannot be.
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/launch/ptx2cpu_rt.h"
#include "tests/runtime/step_kernel.h"

using namespace ptx2cpu::test;
using Catch::Matchers::Contains;

namespace {

// Every block waits until all have come, and counts the blocks of its cluster.
struct AllMeet {
  std::atomic<uint32_t> come{0}, ranks{0};
};
struct Meet {
  static void Lane(LaneState& lane) {
    auto& meet = *ParamOf<AllMeet*>(lane.block);
    if (lane.point() == 0) {
      ++meet.come;
      meet.ranks += lane.block->cluster_ctarank;
    }
    if (meet.come != lane.block->nctaid[0]) lane.Wait(1);
  }
};

}  // namespace

TEST_CASE("cooperative and cluster launches from C") {
  const std::vector<ptx2cpu_point> points = {kStart, kYield};
  const ptx2cpu_kernel kernel = MakeStepKernel<Meet>("meet", points);
  const uint32_t grid[3] = {300, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {3, 1, 1}, other[3] = {7, 1, 1};
  AllMeet meet;
  AllMeet* params = &meet;
  CHECK(ptx2cpu_launch_cooperative(&kernel, grid, block, 0, &params) == 0);
  CHECK(std::string(ptx2cpu_message()).empty());
  CHECK(meet.come == 300);
  CHECK(meet.ranks == 0);
  const uint32_t few[3] = {12, 1, 1};
  AllMeet again;
  params = &again;
  CHECK(ptx2cpu_launch_clusters(&kernel, few, block, cluster, 0, &params) == 0);
  CHECK(again.ranks == 4 * (0 + 1 + 2));
  CHECK(ptx2cpu_launch_clusters(&kernel, few, block, other, 0, &params) == 9);
  CHECK_THAT(ptx2cpu_message(), Contains("not a multiple of the cluster"));
  const uint64_t most = ptx2cpu_max_cooperative_blocks(&kernel, block, 0);
  CHECK(most >= 1024);
  const uint32_t more[3] = {static_cast<uint32_t>(most) + 1, 1, 1};
  CHECK(ptx2cpu_launch_cooperative(&kernel, more, block, 0, &params) == 9);
  const uint32_t large[3] = {1025, 1, 1};
  CHECK(ptx2cpu_max_cooperative_blocks(&kernel, large, 0) == 0);
}
