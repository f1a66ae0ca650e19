// Named barriers under the block scheduler: counts, arrive, reductions, exits; and what PTX forbids.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/runtime/step_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;
using Catch::Matchers::Contains;

namespace {

uint32_t* SharedOf(const LaneState& lane) { return reinterpret_cast<uint32_t*>(lane.block->shared); }

// Warps 0 and 1 produce, warps 2 and 3 consume: "full" is barrier 1, "empty" barrier 2, both of 128 threads.
struct ProducerConsumer {
  static constexpr uint32_t kRounds = 200;
  static void Lane(LaneState& lane) {
    const bool produces = lane.warp() < 2;
    uint64_t& round = lane.slot(0);
    if (lane.point() == 0) round = 0;
    uint32_t& cell = SharedOf(lane)[lane.thread % 64];
    if (produces) {
      switch (lane.point()) {
        case 0:
          break;
        case 1:
          ++round;
          return lane.Wait(2, 2, 128);  // arrived at full; now wait for empty
        default:
          break;
      }
      if (round == kRounds) return;
      cell = static_cast<uint32_t>(round * 1000 + lane.thread);
      return lane.Wait(1, 1, 128);
    }
    switch (lane.point()) {
      case 0:
        lane.slot(1) = 0;
        return lane.Wait(3, 1, 128);
      case 3:
        lane.slot(1) += cell;
        return lane.Wait(4, 2, 128);
      default:
        if (++round == kRounds) {
          ParamOf<uint64_t*>(lane.block)[lane.thread - 64] = lane.slot(1);
          return;
        }
        return lane.Wait(3, 1, 128);
    }
  }
};

// All three reductions after each other, over a block with a partial warp.
struct Reductions {
  static void Lane(LaneState& lane) {
    auto* out = ParamOf<uint32_t*>(lane.block) + size_t{lane.thread} * 4;
    if (lane.point() != 0) out[lane.point() - 1] = lane.word(0);
    switch (lane.point()) {
      case 0:
        return lane.Wait(1, 3, 0, lane.thread % 3 == 0 ? 7 : 0);
      case 1:
        return lane.Wait(2, 4, 0, 1);
      case 2:
        return lane.Wait(3, 5, 0, 0);
      case 3:
        return lane.Wait(4, 15, 0, lane.thread == 77);
    }
  }
};

// Odd lanes of warp 0 and all of warp 2 exit at once; the rest counts itself at a barrier of all threads,
// many times.
struct Exits {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) {
      if (lane.warp() == 2 || (lane.warp() == 0 && lane.lane() % 2 == 1)) return;
      lane.slot(0) = 0;
    }
    if (lane.slot(0)++ < 50) return lane.Wait(1, 0, 0);
    ParamOf<uint32_t*>(lane.block)[lane.thread] = 1;
  }
};

// Barrier 1 counts 96 threads, but warp 2 exits without it.
struct ShortBarrier {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0 && lane.warp() != 2) return lane.Wait(1, 1, 96);
    if (lane.point() == 1) ParamOf<uint32_t*>(lane.block)[lane.thread] = 1;
  }
};

// The warps take different ways: each pair of warps has its barrier.
struct Pairs {
  static void Lane(LaneState& lane) {
    uint64_t& round = lane.slot(0);
    if (lane.point() == 0) round = 0;
    const uint32_t pair = lane.warp() / 2;
    if (round++ < 10 * (pair + 1)) return lane.Wait(1 + pair % 2, pair, 64);
    ParamOf<uint32_t*>(lane.block)[lane.thread] = static_cast<uint32_t>(round);
  }
};

struct Said {
  uint32_t id, count, kind;  // kind: the point
};
// What warp 0 and warp 1 pass at their first wait; lane 3 of warp 0 may differ from its siblings.
struct Saying {
  Said warp0, warp1, lane3;
};
struct Says {
  static void Lane(LaneState& lane) {
    if (lane.point() != 0) return;
    const auto& say = *ParamOf<const Saying*>(lane.block);
    const Said& said = lane.thread == 3 ? say.lane3 : lane.warp() == 0 ? say.warp0 : say.warp1;
    lane.Wait(said.kind, said.id, said.count, 1);
  }
};

const ptx2cpu_point kSync = {PTX2CPU_POINT_BARRIER, 0, 21, "bar.sync"};
const ptx2cpu_point kArrive = {PTX2CPU_POINT_BARRIER_ARRIVE, 0, 22, "bar.arrive"};
const ptx2cpu_point kPopc = {PTX2CPU_POINT_RED_POPC, 0, 23, "bar.red.popc.u32"};

}  // namespace

TEST_CASE("producers arrive, consumers wait, round after round") {
  const std::vector<ptx2cpu_point> points = {kStart, kArrive, kSync, kSync, kArrive};
  const ptx2cpu_kernel kernel = MakeStepKernel<ProducerConsumer>("pipe", points);
  std::vector<uint64_t> out(64);
  auto* pointer = out.data();
  REQUIRE_FALSE(Launch(kernel, {{1, 1, 1}, {128, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 64; ++t) REQUIRE(out[t] == 1000u * (199 * 200 / 2) + 200 * t);
}

TEST_CASE("barrier reductions count threads that exist") {
  const std::vector<ptx2cpu_point> points = {kStart,
                                             kPopc,
                                             {PTX2CPU_POINT_RED_AND, 0, 2, "bar.red.and.pred"},
                                             {PTX2CPU_POINT_RED_OR, 0, 3, "bar.red.or.pred"},
                                             {PTX2CPU_POINT_RED_OR, 0, 4, "bar.red.or.pred"}};
  const ptx2cpu_kernel kernel = MakeStepKernel<Reductions>("red", points);
  std::vector<uint32_t> out(100 * 4, 99);
  auto* pointer = out.data();
  REQUIRE_FALSE(Launch(kernel, {{1, 1, 1}, {100, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 100; ++t) {
    REQUIRE(out[t * 4] == 34);
    REQUIRE(out[t * 4 + 1] == 1);
    REQUIRE(out[t * 4 + 2] == 0);
    REQUIRE(out[t * 4 + 3] == 1);
  }
}

TEST_CASE("lanes and warps that have exited leave barriers") {
  const std::vector<ptx2cpu_point> points = {kStart, kSync};
  std::vector<uint32_t> out(128);
  auto* pointer = out.data();
  REQUIRE_FALSE(
      Launch(MakeStepKernel<Exits>("exits", points), {{1, 1, 1}, {128, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 128; ++t) CHECK(out[t] == (t / 32 == 2 || (t < 32 && t % 2 == 1) ? 0 : 1));
  std::fill(out.begin(), out.end(), 0);
  REQUIRE_FALSE(
      Launch(MakeStepKernel<ShortBarrier>("short", points), {{1, 1, 1}, {96, 1, 1}}, AsParameters(pointer)));
  CHECK((out[0] == 1 && out[63] == 1 && out[64] == 0));
}

TEST_CASE("barriers with counts do not hold up other warps") {
  const std::vector<ptx2cpu_point> points = {kStart, kSync, kSync};
  std::vector<uint32_t> out(1024);
  auto* pointer = out.data();
  REQUIRE_FALSE(
      Launch(MakeStepKernel<Pairs>("pairs", points), {{1, 1, 1}, {1024, 1, 1}}, AsParameters(pointer)));
  for (uint32_t t = 0; t < 1024; ++t) REQUIRE(out[t] == 10 * (t / 64 + 1) + 1);
}

TEST_CASE("illegal barriers are named with thread and line") {
  const std::vector<ptx2cpu_point> points = {kStart, kSync, kArrive, kPopc};
  const ptx2cpu_kernel kernel = MakeStepKernel<Says>("prints", points);
  const auto error = [&](Said warp0, Said warp1, std::optional<Said> lane3 = {}) {
    const Saying saying{warp0, warp1, lane3.value_or(warp0)};
    const auto* pointer = &saying;
    auto result = Launch(kernel, {{1, 1, 1}, {64, 1, 1}}, AsParameters(pointer));
    return result ? *result : LaunchError{.message = "none"};
  };
  CHECK(error({1, 64, 1}, {1, 64, 1}).message == "none");
  CHECK(error({1, 64, 1}, {1, 64, 2}).message == "none");
  CHECK(error({16, 0, 1}, {1, 0, 1}).message ==
        "kernel 'prints', block (0,0,0), thread (0,0,0), PTX line 21: barrier 16 with a count of 0 threads: "
        "barriers are 0..15 and counts are multiples of 32");
  CHECK_THAT(error({1, 33, 1}, {1, 0, 1}).message, Contains("barrier 1 with a count of 33 threads"));
  CHECK_THAT(error({0, 0, 2}, {0, 0, 1}).message,
             Contains("PTX line 22: barrier 0 with a count of 0 threads"));
  CHECK(
      error({1, 64, 1}, {1, 96, 1}).message ==
      "kernel 'prints', block (0,0,0), thread (32,0,0), PTX line 21: barrier 1 is in use with a count of 64 "
      "threads, "
      "this warp passes 96");
  CHECK(
      error({1, 64, 1}, {1, 64, 3}).message ==
      "kernel 'prints', block (0,0,0), thread (32,0,0), PTX line 23: a barrier mixes bar.sync at PTX line 21 "
      "with "
      "bar.red.popc.u32 at PTX line 23");
  CHECK(error({1, 64, 1}, {1, 64, 1}, Said{17, 0, 1}).fault == PTX2CPU_FAULT_DEADLOCK);
  const LaunchError differ = error({1, 64, 1}, {1, 64, 1}, Said{1, 32, 1});
  CHECK(differ.fault == PTX2CPU_FAULT_DEADLOCK);
  CHECK_THAT(differ.message, Contains("bar.sync at PTX line 21 (barrier 1 of 64 threads)"));
  CHECK(error({16, 0, 1}, {1, 0, 1}).fault == PTX2CPU_FAULT_BAD_BARRIER);
}
