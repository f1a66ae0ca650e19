// Threads that spin for each other come to an end at every level, also with one worker: lanes, warps, blocks,
// grids.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/worker/processors.h"
#include "runtime/worker/thread_pool.h"
#include "tests/runtime/progress_program.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;
using Catch::Matchers::Contains;

namespace {

uint32_t ThreadInGrid(const LaneState& lane) {
  return lane.block->ctaid[0] * lane.block->thread_count + lane.thread;
}

// A ticket lock that every thread of the grid takes `rounds` times.
struct TicketLock {
  static void Lane(LaneState& lane) {
    Global& global = GlobalOf(lane);
    if (lane.point() == 0) {
      lane.slot(0) = 0;
      lane.slot(1) = global.ticket.fetch_add(1);
    }
    for (;;) {
      if (global.serving.load(std::memory_order_acquire) != lane.slot(1)) return lane.Wait(1);
      ++global.counter;
      global.serving.fetch_add(1, std::memory_order_release);
      if (++lane.slot(0) >= global.rounds) return;
      lane.slot(1) = global.ticket.fetch_add(1);
    }
  }
};

// Thread i of the grid waits for thread i + 1 (backwards) or i - 1.
template <int direction>
struct Chain {
  static void Lane(LaneState& lane) {
    Global& global = GlobalOf(lane);
    const int64_t self = ThreadInGrid(lane), other = self + direction;
    const bool last = other < 0 || other >= static_cast<int64_t>(global.flags.size());
    if (!last && global.flags[static_cast<size_t>(other)].load(std::memory_order_acquire) == 0)
      return lane.Wait(1);
    global.flags[static_cast<size_t>(self)].store(1, std::memory_order_release);
  }
};

// cooperative groups' grid barrier: bar.sync, thread 0 counts and spins, bar.sync.
struct GridBarrier {
  static void Lane(LaneState& lane) {
    Global& global = GlobalOf(lane);
    const uint32_t blocks = lane.block->nctaid[0];
    uint64_t &round = lane.slot(0), &seen = lane.slot(1);
    switch (lane.point()) {
      case 0:
        round = 0;
        break;
      case 1:
        if (lane.thread == 0) {
          seen = global.generation.load();
          if (global.arrived.fetch_add(1) + 1 == blocks) {
            global.arrived.store(0);
            global.generation.fetch_add(1);
          }
          return Spin(lane);
        }
        return lane.Wait(3, 0, 0);
      case 2:
        return Spin(lane);
      case 3:
        // Everybody is in this round: the neighbour has written it and not gone further than one ahead.
        if (lane.thread == 0) {
          const uint32_t other = global.flags[(lane.block->ctaid[0] + 1) % blocks].load();
          if (other != round + 1 && other != round + 2) ++global.wrong;
        }
        ++round;
        break;
    }
    if (round == global.rounds) return;
    if (lane.thread == 0) global.flags[lane.block->ctaid[0]].store(static_cast<uint32_t>(round + 1));
    lane.Wait(1, 0, 0);
  }
  static void Spin(LaneState& lane) {
    if (GlobalOf(lane).generation.load() == lane.slot(1)) return lane.Wait(2);
    lane.Wait(3, 0, 0);
  }
};

// Warp 0 spins for a store of warp 3, which waits at a barrier with warps 1 and 2 first; all in shared
// memory.
struct WarpsSpin {
  static void Lane(LaneState& lane) {
    auto* flag = reinterpret_cast<volatile uint32_t*>(lane.block->shared);
    uint64_t& round = lane.slot(0);
    if (lane.point() == 0) {
      round = 0;
      return lane.Wait(3, 0, 0);
    }
    if (lane.point() == 3) flag[0] = 0;
    if (lane.warp() == 0) {
      if (lane.point() == 3) return lane.Wait(4, 0, 0);
      if (flag[0] < 100) return lane.Wait(1);
      GlobalOf(lane).flags[ThreadInGrid(lane)] = 1;
      return;
    }
    if (lane.point() == 3) return lane.Wait(4, 0, 0);
    if (lane.thread == 96) flag[0] = flag[0] + 1;
    if (round++ < 100) return lane.Wait(2, 1, 96);
    GlobalOf(lane).flags[ThreadInGrid(lane)] = 1;
  }
};

// The threads of block 0 meet at barriers until block 1 has stored: block 0 always gets on, but never
// further.
struct BusyWait {
  static void Lane(LaneState& lane) {
    Global& global = GlobalOf(lane);
    if (lane.block->ctaid[0] == 1) {
      if (lane.thread == 0) global.flags[0].store(1);
      return;
    }
    if (global.flags[0].load() == 0) return lane.Wait(2, 0, 0);
  }
};

const std::vector<ptx2cpu_point> kGridPoints = {kStart, kSync, kYield, kSync};

uint32_t CountSet(const Global& global) {
  uint32_t count = 0;
  for (const auto& flag : global.flags) count += flag.load();
  return count;
}

}  // namespace

TEST_CASE("a ticket lock over lanes, warps and blocks ends, with one worker too") {
  for (const unsigned workers : {1u, 0u}) {
    Global global;
    global.rounds = 3;
    REQUIRE_FALSE(RunOn<TicketLock>(global, kSpinPoints, {{20, 1, 1}, {96, 1, 1}}, workers));
    CHECK(global.counter == 20 * 96 * 3);
  }
}

TEST_CASE("chains of waiting threads end in both directions") {
  for (const unsigned workers : {1u, 0u}) {
    Global up(50 * 64), down(50 * 64);
    REQUIRE_FALSE(RunOn<Chain<-1>>(up, kSpinPoints, {{50, 1, 1}, {64, 1, 1}}, workers));
    CHECK(CountSet(up) == 50 * 64);
    REQUIRE_FALSE(RunOn<Chain<+1>>(down, kSpinPoints, {{50, 1, 1}, {64, 1, 1}}, workers));
    CHECK(CountSet(down) == 50 * 64);
  }
}

TEST_CASE("warps that spin do not stop warps that meet at a barrier") {
  Global global(8 * 128);
  REQUIRE_FALSE(RunOn<WarpsSpin>(global, kSpinPoints, {{8, 1, 1}, {128, 1, 1}}, 0));
  CHECK(CountSet(global) == 8 * 128);
}

TEST_CASE("a block that is busy waiting makes room for the one it waits for") {
  Global global(1);
  REQUIRE_FALSE(RunOn<BusyWait>(global, kSpinPoints, {{2, 1, 1}, {64, 1, 1}}, 1));
}

TEST_CASE("a grid barrier turns thousands of times, on one worker and on all") {
  for (const unsigned workers : {1u, 0u}) {
    for (const uint32_t blocks : {1u, 7u, 64u}) {
      Global global(blocks);
      global.rounds = blocks == 64 ? 1000 : 5000;
      REQUIRE_FALSE(RunOn<GridBarrier>(global, kGridPoints, {{blocks, 1, 1}, {64, 1, 1}}, workers, true));
      CHECK(global.generation == global.rounds);
      CHECK(global.wrong == 0);
    }
  }
}

TEST_CASE(
    "a grid barrier of a launch that is not cooperative turns too while the grid would fit on a device") {
  for (const unsigned workers : {1u, 0u}) {
    Global global(2000);
    global.rounds = 3;
    REQUIRE_FALSE(RunOn<GridBarrier>(global, kGridPoints, {{2000, 1, 1}, {64, 1, 1}}, workers));
    CHECK(global.generation == 3);
    CHECK(global.wrong == 0);
  }
}

TEST_CASE("the largest cooperative grid is resident at once, one block more is refused") {
  ptx2cpu_kernel kernel = MakeStepKernel<GridBarrier>("grid", kGridPoints);
  kernel.local_bytes = 16;
  const uint64_t most = MaxCooperativeBlocks(kernel, {{1, 1, 1}, {32, 1, 1}});
  REQUIRE(most >= 64 * UsableProcessors());
  Global global(most);
  global.rounds = 3;
  auto* pointer = &global;
  LaunchOptions options;
  options.max_workers = 1;
  options.cooperative = true;
  auto error =
      Launch(kernel, {{static_cast<uint32_t>(most), 1, 1}, {32, 1, 1}}, AsParameters(pointer), options);
  if (error) FAIL(error->message);
  CHECK(global.generation == 3);
  error =
      Launch(kernel, {{static_cast<uint32_t>(most) + 1, 1, 1}, {32, 1, 1}}, AsParameters(pointer), options);
  REQUIRE(error);
  CHECK(error->kind == LaunchError::Kind::kResources);
  CHECK_THAT(error->message, Contains("cannot be resident at once"));
  // Blocks with much local memory: fewer.
  ptx2cpu_kernel large = kernel;
  large.local_bytes = 512 * 1024;
  CHECK(MaxCooperativeBlocks(large, {{1, 1, 1}, {1024, 1, 1}}) < most);
  CHECK(MaxCooperativeBlocks(kernel, {{1, 1, 1}, {2048, 1, 1}}) == 0);
}

TEST_CASE("cooperative launches from several threads do not disturb each other") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, t] {
      for (int n = 0; n < 5; ++n) {
        Global global(16);
        global.rounds = 100;
        if (RunOn<GridBarrier>(global, kGridPoints, {{16, 1, 1}, {64, 1, 1}}, t % 2, true)) ++wrong;
        if (global.generation != 100 || global.wrong != 0) ++wrong;
        Global lock;
        lock.rounds = 2;
        if (RunOn<TicketLock>(lock, kSpinPoints, {{5, 1, 1}, {64, 1, 1}}, t % 2)) ++wrong;
        if (lock.counter != 5 * 64 * 2) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a cooperative launch ends though all workers of the pool are busy") {
  std::atomic<bool> stop = false;
  std::atomic<uint32_t> busy = 0;
  struct Occupied {
    std::atomic<bool>* stop;
    std::atomic<uint32_t>* busy;
  };
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = "busy";
  kernel.parameter_bytes = sizeof(Occupied);
  kernel.run_block = [](ptx2cpu_block* block) {
    const auto occupied = ParamOf<Occupied>(block);
    if (block->ctaid[0] == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // long enough to ask for help
    if (block->ctaid[0] != 0) ++*occupied.busy;
    while (block->ctaid[0] != 0 && !*occupied.stop) std::this_thread::yield();
  };
  const Occupied occupied{&stop, &busy};
  const uint32_t pool = ThreadPool::Get().size();
  std::thread other(
      [&] { CHECK_FALSE(Launch(kernel, {{pool + 1, 1, 1}, {1, 1, 1}}, AsParameters(occupied))); });
  while (busy != pool) std::this_thread::yield();
  Global global(64);
  global.rounds = 5;
  CHECK_FALSE(RunOn<GridBarrier>(global, kGridPoints, {{64, 1, 1}, {64, 1, 1}}, 0, true));
  CHECK(global.generation == 5);
  stop = true;
  other.join();
}
