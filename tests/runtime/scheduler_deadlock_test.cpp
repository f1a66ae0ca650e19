// Wrong programs end, and the report names the threads that wait, where, and for which others; faults inside
// steps name the right block.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/runtime/step_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;
using Catch::Matchers::Contains;

namespace {

// Warp 1's upper half goes to another barrier than everybody else.
struct TwoBarriers {
  static void Lane(LaneState& lane) {
    if (lane.point() != 0) return;
    const bool other = lane.warp() == 1 && lane.lane() >= 16;
    lane.Wait(other ? 2 : 1, other ? 4 : 0, other ? 64 : 0);
  }
};

// Lane 7 waits at a barrier for all, its siblings for lane 7 at a shuffle.
struct BarrierAgainstShuffle {
  static void Lane(LaneState& lane) {
    if (lane.point() != 0) return;
    if (lane.lane() == 7) return lane.Wait(1, 0, 0);
    lane.Wait(2, 0x000000ff);
    if (lane.lane() > 7) lane.waits = false;
  }
};

struct Misses128 {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) lane.Wait(1, 2, 128);
  }
};

// Every block spins until block 5 has run; block 5's thread 33 traps, with many blocks put aside.
struct TrapAmongResidents {
  static void Lane(LaneState& lane) {
    if (lane.block->ctaid[0] == 5) {
      if (lane.thread == 33) ptx2cpu_fault(lane.block, PTX2CPU_FAULT_TRAP, 33, 77);
      return;
    }
    lane.Wait(1);
  }
};

struct PastSharedAmongResidents {
  static void Lane(LaneState& lane) {
    if (lane.block->ctaid[0] == 3) {
      reinterpret_cast<volatile uint8_t*>(lane.block->shared)[lane.block->shared_bytes] = 1;
    }
    lane.Wait(1);
  }
};

struct FaultInCollective {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) lane.Wait(1, ~0u);
  }
  static void Collective(ptx2cpu_block* block, uint32_t warp, uint32_t collective, uint32_t lanes) {
    ptx2cpu_fault(block, PTX2CPU_FAULT_TRAP, warp * 32 + 2, 5);
  }
};

[[gnu::noinline]] void ReadNowhere() {
  volatile const uint32_t* nowhere = reinterpret_cast<const uint32_t*>(uintptr_t{64});
  static_cast<void>(*nowhere);
}
// Thread 36 and those after it, one after the other.
struct ReadsNowhere {
  static void Lane(LaneState& lane) {
    if (lane.thread == 36) ReadNowhere();
  }
};

// Block 0 of each cluster waits with all threads, warp 1 of block 1 waits at a named barrier at which no
// other thread arrives.
struct ClusterDeadlock {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) {
      if (lane.block->cluster_ctarank == 1 && lane.warp() == 1) return lane.Wait(3, 3, 96);
      return lane.Wait(1);
    }
    if (lane.point() == 1) lane.Wait(2);
  }
};
struct WaitsWithoutArrival {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0) lane.Wait(2);
  }
};
struct ArrivesTwice {
  static void Lane(LaneState& lane) {
    if (lane.point() == 0 || lane.point() == 1) lane.Wait(1);
  }
};

const ptx2cpu_point kSync = {PTX2CPU_POINT_BARRIER, 0, 21, "bar.sync"};
const ptx2cpu_point kShuffle = {PTX2CPU_POINT_COLLECTIVE, 0, 31, "shfl.sync.idx.b32"};

LaunchError ErrorOf(const ptx2cpu_kernel& kernel, const LaunchShape& shape, unsigned max_workers = 0) {
  const uint64_t zero = 0;
  LaunchOptions options;
  options.max_workers = max_workers;
  auto error = Launch(kernel, shape, AsParameters(zero), options);
  return error ? *error : LaunchError{.message = "none"};
}

}  // namespace

TEST_CASE("a deadlock names each wait, who has arrived and who is missing") {
  const std::vector<ptx2cpu_point> points = {kStart, kSync, {PTX2CPU_POINT_BARRIER, 0, 44, "barrier.sync"}};
  const LaunchError error = ErrorOf(MakeStepKernel<TwoBarriers>("two", points), {{1, 1, 1}, {64, 1, 1}});
  CHECK(error.kind == LaunchError::Kind::kFault);
  CHECK(error.fault == PTX2CPU_FAULT_DEADLOCK);
  CHECK(error.ptx_line == 21);
  CHECK(error.thread == ~0u);
  CHECK(
      error.message ==
      "kernel 'two', block (0,0,0), PTX line 21: deadlock: no thread can continue. bar.sync at PTX line 21 "
      "(barrier 0 "
      "of all live threads): arrived warp 0 lanes 0xffffffff, warp 1 lanes 0x0000ffff; missing warp 1 lanes "
      "0xffff0000. barrier.sync at PTX line 44 (barrier 4 of 64 threads): arrived warp 1 lanes 0xffff0000; "
      "missing "
      "warp 0 lanes 0xffffffff, warp 1 lanes 0x0000ffff");
}

TEST_CASE("a deadlock of a barrier against a collective names the membermask") {
  const std::vector<ptx2cpu_point> points = {kStart, kSync, kShuffle};
  const LaunchError error =
      ErrorOf(MakeStepKernel<BarrierAgainstShuffle>("mixed", points), {{1, 1, 1}, {32, 1, 1}});
  CHECK_THAT(error.message,
             Contains("shfl.sync.idx.b32 at PTX line 31 (membermask 0x000000ff): arrived warp 0 lanes "
                      "0x0000007f; missing warp 0 lanes 0x00000080"));
  CHECK_THAT(error.message,
             Contains("(barrier 0 of all live threads): arrived warp 0 lanes 0x00000080; missing warp 0 "
                      "lanes 0x0000007f"));
}

TEST_CASE("long lists are cut; the block that deadlocks is named") {
  const std::vector<ptx2cpu_point> points = {kStart, kSync};
  ptx2cpu_kernel kernel = MakeStepKernel<TwoBarriers>("many", points);
  const std::vector<ptx2cpu_point> both = {kStart, kSync, kSync};
  kernel.points = both.data(), kernel.point_count = 3;
  CHECK_THAT(ErrorOf(kernel, {{1, 1, 1}, {256, 1, 1}}).message, Contains("warp 3 lanes 0xffffffff, ..."));
  const LaunchError error = ErrorOf(MakeStepKernel<Misses128>("count", points), {{2, 1, 1}, {96, 1, 1}}, 1);
  CHECK_THAT(error.message, Contains("kernel 'count', block (0,0,0), PTX line 21: deadlock"));
  CHECK_THAT(error.message,
             Contains("(barrier 2 of 128 threads): arrived warp 0 lanes 0xffffffff, warp 1 lanes "
                      "0xffffffff, warp 2 lanes 0xffffffff; missing none"));
}

TEST_CASE("a fault in a step names its block and thread though others are resident") {
  const std::vector<ptx2cpu_point> points = {kStart, kYield};
  for (const unsigned workers : {1u, 0u}) {
    LaunchError error =
        ErrorOf(MakeStepKernel<TrapAmongResidents>("trap", points), {{40, 1, 1}, {64, 1, 1}}, workers);
    CHECK(error.message == "kernel 'trap', block (5,0,0), thread (33,0,0), PTX line 77: trap");
    CHECK(error.block.x == 5);
    error =
        ErrorOf(MakeStepKernel<PastSharedAmongResidents>("past", points), {{40, 1, 1}, {64, 1, 1}}, workers);
    CHECK_THAT(error.message, Contains("kernel 'past', block (3,0,0)"));
    CHECK_THAT(error.message, Contains("just outside shared memory"));
  }
}

TEST_CASE("a fault of the hardware names its thread where one lane ran, else the warp and its lanes") {
  const std::vector<ptx2cpu_point> points = {kStart, kYield};
  // Lanes below 4 have exited in that step.
  LaunchError error = ErrorOf(MakeStepKernel<ReadsNowhere>("wide", points), {{1, 1, 1}, {64, 1, 1}}, 1);
  CHECK_THAT(error.message, Contains("kernel 'wide', block (0,0,0): "));
  CHECK_THAT(error.message, Contains("(by a thread of warp 1, lanes 0xfffffff0)"));
  CHECK(error.thread == ~0u);
  error = ErrorOf(MakeStepKernel<ReadsNowhere>("narrow", points), {{1, 1, 1}, {37, 1, 1}}, 1);
  CHECK_THAT(error.message, Contains("kernel 'narrow', block (0,0,0), thread (36,0,0): "));
  CHECK(error.thread == 36);
}

TEST_CASE("a fault of the hardware in a block of one thread is that thread's") {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = "alone";
  kernel.parameter_bytes = 8;
  kernel.run_block = [](ptx2cpu_block*) { ReadNowhere(); };
  const LaunchError error = ErrorOf(kernel, {{1, 1, 1}, {1, 1, 1}});
  CHECK_THAT(error.message, Contains("kernel 'alone', block (0,0,0), thread (0,0,0): "));
}

TEST_CASE("a fault in a collective's operation is a fault of its thread") {
  const std::vector<ptx2cpu_point> points = {kStart, kShuffle};
  CHECK(ErrorOf(MakeStepKernel<FaultInCollective>("op", points), {{1, 1, 1}, {32, 1, 1}}).message ==
        "kernel 'op', block (0,0,0), thread (2,0,0), PTX line 5: trap");
}

TEST_CASE("deadlocks of a cluster name the other block's threads; misuse of its barrier is named") {
  const std::vector<ptx2cpu_point> points = {kStart,
                                             {PTX2CPU_POINT_CLUSTER_ARRIVE, 0, 61, "barrier.cluster.arrive"},
                                             {PTX2CPU_POINT_CLUSTER_WAIT, 0, 62, "barrier.cluster.wait"},
                                             kSync};
  const LaunchShape shape{{4, 1, 1}, {64, 1, 1}, 0, {2, 1, 1}};
  LaunchError error = ErrorOf(MakeStepKernel<ClusterDeadlock>("cluster", points), shape, 1);
  CHECK(error.fault == PTX2CPU_FAULT_DEADLOCK);
  CHECK_THAT(error.message,
             Contains("block (0,0,0), PTX line 62: deadlock: no thread can continue. barrier.cluster.wait at "
                      "PTX line 62"));
  CHECK_THAT(error.message, Contains("missing none, block (1,0,0) warp 1 lanes 0xffffffff"));
  error = ErrorOf(MakeStepKernel<WaitsWithoutArrival>("wait", points), shape);
  CHECK_THAT(error.message,
             Contains("PTX line 62: waits at the cluster's barrier without having arrived there"));
  error = ErrorOf(MakeStepKernel<ArrivesTwice>("twice", points), shape);
  CHECK_THAT(error.message, Contains("PTX line 61: arrives at the cluster's barrier twice"));
}
