// Warp collectives under the block scheduler: groups by class and membermask wherever lanes are, converged
// forms.
#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "tests/runtime/step_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

// Class 0: ballot of slot 0 into slot 1.
void Ballot(ptx2cpu_block* block, uint32_t warp, uint32_t lanes) {
  uint32_t ballot = 0;
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    if (SlotOf(block, warp * 32 + lane, 0) != 0) ballot |= 1u << lane;
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    SlotOf(block, warp * 32 + static_cast<uint32_t>(std::countr_zero(rest)), 1) = ballot;
  }
}

// Lanes below 8 ask at point 1, the others loop lane times (yielding) and then ask at point 2 or 3.
struct FromThreePlaces {
  static void Lane(LaneState& lane) {
    switch (lane.point()) {
      case 0:
        lane.slot(0) = lane.lane() % 3 == 0;
        lane.slot(2) = 0;
        if (lane.lane() < 8) return lane.Wait(1, ~0u);
        return lane.Wait(4);
      case 4:
        if (lane.slot(2)++ < lane.lane()) return lane.Wait(4);
        return lane.Wait(lane.lane() < 20 ? 2 : 3, ~0u);
      default:
        ParamOf<uint32_t*>(lane.block)[lane.thread] = static_cast<uint32_t>(lane.slot(1));
    }
  }
  static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t collective, uint32_t lanes) {
    Ballot(block, warp, lanes);
  }
};

// Every lane asks with the mask of its parity; odd lanes exit after one round, even ones continue with full
// masks.
struct ByMask {
  static void Lane(LaneState& lane) {
    const uint32_t parity = lane.lane() % 2 == 0 ? 0x55555555u : 0xaaaaaaaau;
    auto* out = ParamOf<uint32_t*>(lane.block);
    switch (lane.point()) {
      case 0:
        lane.slot(0) = 1;
        return lane.Wait(1, parity);
      case 1:
        out[lane.thread] = static_cast<uint32_t>(lane.slot(1));
        if (lane.lane() % 2 == 1) return;
        return lane.Wait(2, ~0u);  // the odd lanes have exited: they leave the mask
      default:
        out[64 + lane.thread] = static_cast<uint32_t>(lane.slot(1));
    }
  }
  static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t collective, uint32_t lanes) {
    Ballot(block, warp, lanes);
  }
};

// Lanes reach activemask (points 2 and 3) after different numbers of steps; point 2 is earlier in the
// program.
struct Converging {
  static void Lane(LaneState& lane) {
    switch (lane.point()) {
      case 0:
        lane.slot(2) = 0;
        return lane.Wait(1);
      case 1:
        if (lane.slot(2)++ < lane.lane() % 5) return lane.Wait(1);
        return lane.Wait(lane.lane() < 16 ? 2 : 3);
      case 2:
        ParamOf<uint32_t*>(lane.block)[lane.thread] = static_cast<uint32_t>(lane.slot(1));
        return lane.Wait(3);
      default:
        ParamOf<uint32_t*>(lane.block)[32 + lane.thread] = static_cast<uint32_t>(lane.slot(1));
    }
  }
  static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t collective, uint32_t lanes) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      SlotOf(block, warp * 32 + static_cast<uint32_t>(std::countr_zero(rest)), 1) = lanes;
    }
  }
};

// Lane 0 waits to converge while all others spin for what it stores after that.
struct ConvergeAmongSpinners {
  static void Lane(LaneState& lane) {
    auto* flag = reinterpret_cast<volatile uint32_t*>(lane.block->shared);
    switch (lane.point()) {
      case 0:
        if (lane.lane() == 0) return *flag = 0, lane.Wait(2);
        return lane.Wait(1);
      case 1:
        if (*flag == 0) return lane.Wait(1);
        return;
      default:
        *flag = 1;
        ParamOf<uint32_t*>(lane.block)[0] = static_cast<uint32_t>(lane.slot(1));
    }
  }
  static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t collective, uint32_t lanes) {
    SlotOf(block, 0, 1) = lanes;
  }
};

// All lanes name lanes 4 to 15; every fourth first exits or goes another way.
struct MaskOfOthers {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) {
      lane.slot(1) = 0;  // what lanes read that no collective writes to
      if (lane.lane() % 4 == 3) return;
      return lane.Wait(lane.lane() % 4 == 2 ? 2 : 1, 0x0000fff0u);
    }
    ParamOf<uint32_t*>(lane.block)[lane.thread] = static_cast<uint32_t>(lane.slot(1));
  }
  static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t, uint32_t lanes) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      SlotOf(block, warp * 32 + static_cast<uint32_t>(std::countr_zero(rest)), 1) = lanes;
  }
};

struct NotAMember {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) return lane.Wait(1, lane.lane() == 5 ? 0xffffffdfu : ~0u);
  }
};

const ptx2cpu_point kBallot = {PTX2CPU_POINT_COLLECTIVE, 0, 11, "vote.sync.ballot.b32"};

}  // namespace

TEST_CASE("lanes in different places meet in one collective") {
  const std::vector<ptx2cpu_point> points = {kStart, kBallot, kBallot, kBallot, kYield};
  const ptx2cpu_kernel kernel = MakeStepKernel<FromThreePlaces>("places", points);
  std::vector<uint32_t> out(80);
  auto* pointer = out.data();
  REQUIRE_FALSE(Launch(kernel, {{1, 1, 1}, {80, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 80; ++t) {
    INFO(t);
    REQUIRE(out[t] == (t < 64 ? 0x49249249u : 0x9249u));  // the last warp has 16 lanes
  }
}

TEST_CASE("lanes group by membermask, and those that exited leave it") {
  const std::vector<ptx2cpu_point> points = {kStart, kBallot, kBallot};
  const ptx2cpu_kernel kernel = MakeStepKernel<ByMask>("masks", points);
  std::vector<uint32_t> out(128);
  auto* pointer = out.data();
  REQUIRE_FALSE(Launch(kernel, {{1, 1, 1}, {64, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 64; ++t) {
    REQUIRE(out[t] == (t % 2 == 0 ? 0x55555555u : 0xaaaaaaaau));
    REQUIRE(out[64 + t] == (t % 2 == 0 ? 0x55555555u : 0));
  }
}

TEST_CASE("classes keep collectives apart") {
  // As in the first test, but point 3 is another operation: lanes 20.. never meet the others.
  std::vector<ptx2cpu_point> points = {kStart, kBallot, kBallot, kBallot, kYield};
  points[3].collective = 1;
  const ptx2cpu_kernel kernel = MakeStepKernel<FromThreePlaces>("classes", points);
  std::vector<uint32_t> out(32);
  auto* pointer = out.data();
  auto error = Launch(kernel, {{1, 1, 1}, {32, 1, 1}}, AsParameters(pointer));
  REQUIRE(error);
  CHECK(error->fault == PTX2CPU_FAULT_DEADLOCK);
}

TEST_CASE("converged forms wait for everybody who can still come, the earliest in the program first") {
  const std::vector<ptx2cpu_point> points = {kStart,
                                             kYield,
                                             {PTX2CPU_POINT_CONVERGED, 0, 5, "activemask.b32"},
                                             {PTX2CPU_POINT_CONVERGED, 0, 9, "activemask.b32"}};
  const ptx2cpu_kernel kernel = MakeStepKernel<Converging>("converge", points);
  std::vector<uint32_t> out(64);
  auto* pointer = out.data();
  REQUIRE_FALSE(Launch(kernel, {{1, 1, 1}, {32, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 32; ++t) {
    CHECK(out[t] == (t < 16 ? 0xffffu : 0));
    CHECK(out[32 + t] == ~0u);
  }
}

TEST_CASE("lanes that wait to converge do not wait for ever for spinning siblings") {
  const std::vector<ptx2cpu_point> points = {
      kStart, kYield, {PTX2CPU_POINT_CONVERGED, 0, 5, "activemask.b32"}};
  const ptx2cpu_kernel kernel = MakeStepKernel<ConvergeAmongSpinners>("spinners", points);
  uint32_t out = 0;
  auto* pointer = &out;
  REQUIRE_FALSE(Launch(kernel, {{1, 1, 1}, {32, 1, 1}}, AsParameters(pointer)));
  CHECK(out == 1);
}

TEST_CASE("lanes at one point that name one mask run together, whichever lanes it names") {
  // Lanes at a point of another class name the same lanes: each point has its own company once those have
  // ended.
  std::vector<ptx2cpu_point> points = {kStart, kBallot, kBallot};
  points[2].collective = 1;
  std::vector<uint32_t> out(32);
  auto* pointer = out.data();
  const auto error =
      Launch(MakeStepKernel<MaskOfOthers>("others", points), {{1, 1, 1}, {32, 1, 1}}, AsParameters(pointer));
  REQUIRE(error);  // each waits for lanes of the mask at the other point
  CHECK(error->fault == PTX2CPU_FAULT_NOT_A_MEMBER);
  points[2] = {PTX2CPU_POINT_YIELD, 0, 0, "yield"};
  REQUIRE_FALSE(
      Launch(MakeStepKernel<MaskOfOthers>("others", points), {{1, 1, 1}, {32, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 32; ++t) CHECK(out[t] == (t % 4 < 2 ? 0x33333333u : 0));
}

TEST_CASE("a lane outside its own membermask is a fault of that lane") {
  const std::vector<ptx2cpu_point> points = {kStart, kBallot};
  const uint64_t zero = 0;
  auto error =
      Launch(MakeStepKernel<NotAMember>("stranger", points), {{1, 1, 1}, {32, 1, 1}}, AsParameters(zero));
  REQUIRE(error);
  CHECK(error->fault == PTX2CPU_FAULT_NOT_A_MEMBER);
  CHECK(error->message ==
        "kernel 'stranger', block (0,0,0), thread (5,0,0), PTX line 11: lane 5 is not in its own membermask "
        "0xffffffdf");
  CHECK(error->ptx_line == 11);
  CHECK(error->thread == 5);
}
