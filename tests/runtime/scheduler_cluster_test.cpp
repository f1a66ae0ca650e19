// The blocks of a cluster meet, reach each other's shared memory and lie in the grid by the cluster's
// dimensions.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/runtime/progress_program.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;
using Catch::Matchers::Contains;

namespace {

// Each block writes its rank for its neighbour's window, round after round, with the cluster's barrier
// between.
struct ClusterRing {
  static void Lane(LaneState& lane) {
    ptx2cpu_block* block = lane.block;
    uint64_t& round = lane.slot(0);
    const uint32_t next = (block->cluster_ctarank + 1) % block->cluster_nctarank;
    const uint32_t before = (block->cluster_ctarank + block->cluster_nctarank - 1) % block->cluster_nctarank;
    auto* own = reinterpret_cast<uint32_t*>(block->shared);
    switch (lane.point()) {
      case 0:
        round = 0;
        break;
      case 1:
        return lane.Wait(2);
      case 2:
        if (own[lane.thread] != before * 1000 + round) ++GlobalOf(lane).wrong;
        return lane.Wait(3);
      case 3:
        return lane.Wait(4);
      case 4:
        if (++round == GlobalOf(lane).rounds) {
          GlobalOf(lane).arrived.fetch_add(1);
          return;
        }
    }
    reinterpret_cast<uint32_t*>(block->cluster_shared[next])[lane.thread] =
        static_cast<uint32_t>(block->cluster_ctarank * 1000 + round);
    lane.Wait(1);
  }
};

// Between arrival and wait the odd threads take their time, so that the phase is over before they wait.
struct ClusterSplit {
  static void Lane(LaneState& lane) {
    uint64_t &round = lane.slot(0), &yields = lane.slot(1);
    switch (lane.point()) {
      case 0:
        round = 0;
        break;
      case 1:
        yields = 0;
        [[fallthrough]];
      case 3:
        if (lane.thread % 2 == 1 && yields++ < 20 * lane.block->cluster_ctarank) return lane.Wait(3);
        return lane.Wait(2);
      case 2:
        if (GlobalOf(lane).flags[round].load() != 4 * 64) ++GlobalOf(lane).wrong;
        if (++round == GlobalOf(lane).rounds) return;
    }
    GlobalOf(lane).flags[round].fetch_add(1);
    lane.Wait(1);
  }
};

struct ClusterPlaces {
  static void Lane(LaneState& lane) {
    const ptx2cpu_block& b = *lane.block;
    Global& global = GlobalOf(lane);
    if (b.cluster_nctaid[0] != 2 || b.cluster_nctaid[1] != 1 || b.cluster_nctaid[2] != 3) ++global.wrong;
    if (b.ctaid[0] % 2 != b.cluster_ctaid[0] || b.cluster_ctaid[1] != 0 ||
        b.ctaid[2] % 3 != b.cluster_ctaid[2])
      ++global.wrong;
    if (b.cluster_ctarank != b.cluster_ctaid[0] + 2 * b.cluster_ctaid[2] || b.cluster_nctarank != 6)
      ++global.wrong;
    if (b.cluster_shared[b.cluster_ctarank] != b.shared || b.cluster_is_explicit != 1) ++global.wrong;
    global.flags[b.ctaid[0] + b.nctaid[0] * (b.ctaid[1] + b.nctaid[1] * b.ctaid[2])].fetch_add(1);
  }
};

const ptx2cpu_point kClusterArrive = {PTX2CPU_POINT_CLUSTER_ARRIVE, 0, 61, "barrier.cluster.arrive"};
const ptx2cpu_point kClusterWait = {PTX2CPU_POINT_CLUSTER_WAIT, 0, 62, "barrier.cluster.wait"};

}  // namespace

TEST_CASE("blocks of a cluster meet and reach each other's shared memory") {
  const std::vector<ptx2cpu_point> points = {kStart, kClusterArrive, kClusterWait, kClusterArrive,
                                             kClusterWait};
  Global global;
  global.rounds = 200;
  REQUIRE_FALSE(RunOn<ClusterRing>(global, points, {{24, 1, 1}, {64, 1, 1}, 0, {8, 1, 1}}, 0));
  CHECK(global.wrong == 0);
  CHECK(global.arrived == 24 * 64);
}

TEST_CASE("threads may come late to the wait of a cluster's barrier") {
  const std::vector<ptx2cpu_point> points = {kStart, kClusterArrive, kClusterWait, kYield};
  Global global(10);
  global.rounds = 10;
  REQUIRE_FALSE(RunOn<ClusterSplit>(global, points, {{4, 1, 1}, {64, 1, 1}, 0, {4, 1, 1}}, 0));
  CHECK(global.wrong == 0);
}

TEST_CASE("clusters lie in the grid by their dimensions") {
  Global global(4 * 2 * 6);
  REQUIRE_FALSE(RunOn<ClusterPlaces>(global, kSpinPoints, {{4, 2, 6}, {1, 1, 1}, 0, {2, 1, 3}}, 0));
  CHECK(global.wrong == 0);
  for (const auto& flag : global.flags) CHECK(flag == 1);
  auto error = RunOn<ClusterPlaces>(global, kSpinPoints, {{5, 2, 6}, {1, 1, 1}, 0, {2, 1, 3}}, 0);
  REQUIRE(error);
  CHECK_THAT(error->message, Contains("grid 5x2x6 is not a multiple of the cluster 2x1x3"));
  error = RunOn<ClusterPlaces>(global, kSpinPoints, {{32, 1, 1}, {1, 1, 1}, 0, {32, 1, 1}}, 0);
  REQUIRE(error);
  CHECK_THAT(error->message, Contains("outside 1..16 blocks"));
}

TEST_CASE("a kernel's own cluster dimensions hold where the launch gives none") {
  ptx2cpu_kernel kernel = MakeStepKernel<ClusterPlaces>("own", kSpinPoints);
  kernel.required_cluster[0] = 2, kernel.required_cluster[1] = 1, kernel.required_cluster[2] = 3;
  Global global(4 * 2 * 6);
  auto* pointer = &global;
  REQUIRE_FALSE(Launch(kernel, {{4, 2, 6}, {1, 1, 1}}, AsParameters(pointer)));
  CHECK(global.wrong == 0);
  auto error = Launch(kernel, {{4, 2, 6}, {1, 1, 1}, 0, {2, 2, 1}}, AsParameters(pointer));
  REQUIRE(error);
  CHECK_THAT(error->message, Contains("requires clusters of 2x1x3"));
}
