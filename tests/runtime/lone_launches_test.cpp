// A launch that no other one runs beside knows it; others that begin wait until it has heard of them.
#include "runtime/abi/lone_launches.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/launch/launch.h"
#include "runtime/worker/thread_pool.h"

using namespace ptx2cpu::rt;

namespace {

struct Shared {
  std::atomic<uint64_t> sum{0}, alone{0}, blocks{0};
};

Shared* SharedOf(const ptx2cpu_block* block) {
  Shared* shared;
  std::memcpy(&shared, block->params, sizeof shared);
  return shared;
}

// Adds one, as generated code does: by a load and a store where it is alone.
void Add(ptx2cpu_block* block) {
  Shared* shared = SharedOf(block);
  shared->blocks.fetch_add(1, std::memory_order_relaxed);
  if (block->alone == 0) {
    shared->sum.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  shared->alone.fetch_add(1, std::memory_order_relaxed);
  const uint64_t old = shared->sum.load(std::memory_order_relaxed);
  for (int n = 0; n < 20; ++n) std::atomic_signal_fence(std::memory_order_seq_cst);
  shared->sum.store(old + 1, std::memory_order_relaxed);
}

ptx2cpu_kernel MakeKernel(uint32_t flags) {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = "add";
  kernel.run_block = Add;
  kernel.parameter_bytes = 8;
  kernel.flags = flags;
  return kernel;
}

void Run(const ptx2cpu_kernel& kernel, Shared& shared, uint32_t blocks, unsigned workers) {
  Shared* at = &shared;
  LaunchOptions options;
  options.max_workers = workers;
  if (Launch(kernel, {{blocks, 1, 1}, {32, 1, 1}}, std::as_bytes(std::span<Shared* const, 1>(&at, 1)),
             options))
    FAIL("a launch failed");
}

}  // namespace

TEST_CASE("a launch of one worker is alone where its kernel may be and no other runs", "[alone]") {
  Shared shared;
  Run(MakeKernel(PTX2CPU_KERNEL_MAY_RUN_ALONE), shared, 100, 1);
  CHECK(shared.alone == 100);
  Run(MakeKernel(0), shared, 100, 1);
  CHECK(shared.alone == 100);
  {
    RunningLaunches::Scope other(ThreadPool::Get().launches(), false);
    Run(MakeKernel(PTX2CPU_KERNEL_MAY_RUN_ALONE), shared, 100, 1);
  }
  CHECK(shared.alone == 100);
  Run(MakeKernel(PTX2CPU_KERNEL_MAY_RUN_ALONE), shared, 100, 1);
  CHECK(shared.alone == 200);
  CHECK(shared.sum == 400);
}

TEST_CASE("no update is lost where launches begin beside one that is alone, or others help it", "[alone]") {
  constexpr uint32_t kThreads = 4, kLaunches = 300, kBlocks = 300;
  Shared shared;
  const ptx2cpu_kernel kernel = MakeKernel(PTX2CPU_KERNEL_MAY_RUN_ALONE), other = MakeKernel(0);
  std::vector<std::thread> threads;
  for (uint32_t n = 0; n < kThreads; ++n) {
    threads.emplace_back([&, n] {
      for (uint32_t launch = 0; launch < kLaunches; ++launch)
        Run(n == 0 ? other : kernel, shared, kBlocks, n == 1 ? 0 : 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shared.blocks == uint64_t{kThreads} * kLaunches * kBlocks);
  CHECK(shared.sum == shared.blocks);
}

TEST_CASE("an asking launch wakes when the one that was alone has heard of it", "[alone]") {
  RunningLaunches launches;
  for (int turn = 0; turn < 200; ++turn) {
    std::atomic<bool> joined{false};
    auto first = std::make_unique<RunningLaunches::Scope>(launches, true);
    REQUIRE(first->StaysAlone());
    std::thread second([&] {
      RunningLaunches::Scope scope(launches, true);
      CHECK_FALSE(scope.StaysAlone());
      joined = true;
    });
    if (turn % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    CHECK_FALSE(joined);
    if (turn % 2 == 0) {
      while (first->StaysAlone()) std::this_thread::yield();
      CHECK_FALSE(first->StaysAlone());
      second.join();
      first.reset();
    } else {
      first->EndAlone();
      second.join();
      first.reset();
    }
    CHECK(joined);
  }
}
