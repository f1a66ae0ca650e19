// Launching plain C++ block functions: order, shapes, faults, printing. No compiler involved.
#include "runtime/launch/launch.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "runtime/abi/joined_blocks.h"
#include "runtime/worker/thread_pool.h"

using ptx2cpu::Dim3;
using namespace ptx2cpu::rt;
using Catch::Matchers::Contains;

namespace {

template <typename T>
T Param(const ptx2cpu_block* block, size_t offset = 0) {
  T value;
  std::memcpy(&value, block->params + offset, sizeof value);
  return value;
}

ptx2cpu_kernel MakeKernel(const char* name, ptx2cpu_block_function function, uint32_t parameter_bytes = 8) {
  ptx2cpu_kernel kernel = {};
  kernel.abi_version = PTX2CPU_ABI_VERSION;
  kernel.name = name;
  kernel.run_block = function;
  kernel.parameter_bytes = parameter_bytes;
  return kernel;
}

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

void CountBlocks(ptx2cpu_block* block) {
  auto* counts = Param<std::atomic<uint32_t>*>(block);
  const uint64_t index =
      block->ctaid[0] +
      uint64_t{block->nctaid[0]} * (block->ctaid[1] + uint64_t{block->nctaid[1]} * block->ctaid[2]);
  counts[index].fetch_add(1);
}

// A thread's place in the grid, of rows of blocks of 40 x 2 threads that may run as one.
void CountThreads(ptx2cpu_block* block) {
  auto* counts = Param<std::atomic<uint32_t>*>(block);
  const uint32_t row = block->nctaid[0] * 40;
  for (uint32_t t = 0; t < block->thread_count; ++t) {
    const uint32_t x = block->ctaid[0] * 40 + t % block->ntid[0],
                   y = block->ctaid[1] * 2 + t / block->ntid[0];
    counts[y * row + x].fetch_add(1);
  }
}

void Trap(ptx2cpu_block* block) {
  if (block->ctaid[0] == 3) ptx2cpu_fault(block, PTX2CPU_FAULT_TRAP, 33, 77);
}

void WriteNull(ptx2cpu_block* block) { *reinterpret_cast<volatile int*>(16) = 1; }

void WritePastShared(ptx2cpu_block* block) {
  reinterpret_cast<volatile uint8_t*>(block->shared)[block->shared_bytes] = 1;
}

void PrintBlock(ptx2cpu_block* block) {
  const struct {
    uint32_t block;
    double value;
  } arguments = {block->ctaid[0], 1.5};
  ptx2cpu_vprintf(block, "block %u value %.2f%%\n", reinterpret_cast<const uint8_t*>(&arguments));
}

}  // namespace

TEST_CASE("blocks that run as one are those of a row, each once") {
  ptx2cpu_kernel kernel = MakeKernel("count", CountThreads);
  kernel.flags = PTX2CPU_KERNEL_JOINS_BLOCKS;
  for (const Dim3 grid : {Dim3{1, 1, 1}, Dim3{11, 3, 1}, Dim3{12, 5, 1}, Dim3{13, 1, 1}, Dim3{999, 40, 1}}) {
    for (unsigned workers : {1u, 2u, 4u}) {
      std::vector<std::atomic<uint32_t>> counts(size_t{grid.x} * grid.y * 80);
      auto* pointer = counts.data();
      LaunchOptions options;
      options.max_workers = workers;
      REQUIRE_FALSE(Launch(kernel, {grid, {40, 2, 1}}, BytesOf(pointer), options));
      for (const auto& count : counts) {
        if (count != 1) FAIL("a thread ran " << count << " times");
      }
    }
  }
}

TEST_CASE("every block of a grid runs exactly once") {
  const ptx2cpu_kernel kernel = MakeKernel("count", CountBlocks);
  for (const Dim3 grid : {Dim3{1, 1, 1}, Dim3{7, 5, 3}, Dim3{100000, 1, 1}}) {
    std::vector<std::atomic<uint32_t>> counts(size_t{grid.x} * grid.y * grid.z);
    auto* pointer = counts.data();
    REQUIRE_FALSE(Launch(kernel, {grid, {32, 1, 1}}, BytesOf(pointer)));
    for (const auto& count : counts) {
      if (count != 1) FAIL("a block ran " << count << " times");
    }
  }
}

TEST_CASE("each worker begins in a part of the grid that is its own in every launch") {
  struct Places {
    std::atomic<uint32_t> begun = 0;
    uint32_t workers = 0;
    std::vector<uint32_t> first;  // by worker: the block that it began with
  };
  // Block 0 is long, so that the owner asks for help; all others wait until all workers have begun, so that
  // no worker is done with its part before.
  static const ptx2cpu_kernel kernel = MakeKernel("places", [](ptx2cpu_block* block) {
    auto& places = *Param<Places*>(block);
    uint32_t& first = places.first[block->worker];
    if (first == ~0u) {
      first = block->ctaid[0];
      places.begun.fetch_add(1);
    }
    if (block->ctaid[0] == 0) return std::this_thread::sleep_for(std::chrono::milliseconds(1));
    while (places.begun < places.workers) std::this_thread::yield();
  });
  const uint32_t workers = ThreadPool::Get().size(), each = 5;
  for (int n = 0; n < 3; ++n) {
    Places places;
    places.workers = workers;
    places.first.assign(workers, ~0u);
    Places* pointer = &places;
    REQUIRE_FALSE(Launch(kernel, {{workers * each, 1, 1}, {1, 1, 1}}, BytesOf(pointer)));
    for (uint32_t w = 0; w < workers; ++w) CHECK(places.first[w] == w * each);
  }
}

TEST_CASE("the owner does what workers that are held up have left of their parts") {
  struct Progress {
    std::atomic<uint32_t> done = 0;
    uint32_t needed = 0;  // blocks, without the first of each part
  };
  constexpr uint32_t kEach = 5;
  // At an address of its own: with the time of another kernel's blocks, a worker would begin with more than
  // one block, the first of which waits for the others.
  static const ptx2cpu_kernel kernel = MakeKernel("held up", [](ptx2cpu_block* block) {
    auto& progress = *Param<Progress*>(block);
    if (block->ctaid[0] == 0) return std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (block->ctaid[0] % kEach != 0) {
      progress.done.fetch_add(1);
    } else if (block->worker != 0) {
      while (progress.done < progress.needed) std::this_thread::yield();
    }
  });
  const uint32_t workers = ThreadPool::Get().size();
  Progress progress;
  progress.needed = workers * (kEach - 1);
  Progress* pointer = &progress;
  REQUIRE_FALSE(Launch(kernel, {{workers * kEach, 1, 1}, {1, 1, 1}}, BytesOf(pointer)));
  CHECK(progress.done == progress.needed);
}

TEST_CASE("launches from several threads do not disturb each other") {
  const ptx2cpu_kernel kernel = MakeKernel("count", CountBlocks);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::atomic<uint32_t>> counts(997);
        auto* pointer = counts.data();
        if (Launch(kernel, {{997, 1, 1}, {64, 1, 1}}, BytesOf(pointer))) ++wrong;
        for (const auto& count : counts) wrong += count != 1;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a block sees its shape, thread ids and live masks") {
  const auto check = [](ptx2cpu_block* block) {
    auto* wrong = Param<std::atomic<int>*>(block);
    if (block->thread_count != 5 * 3 * 3 || block->warp_count != 2 || block->thread_padded != 64) ++*wrong;
    if (block->live[0] != ~0u || block->live[1] != (1u << 13) - 1) ++*wrong;
    if (block->tid[44] != (4u | 2u << 10 | 2u << 20) || block->tid[5] != 1u << 10) ++*wrong;
    if (reinterpret_cast<uintptr_t>(block->shared) % 128 != 0 || block->shared_bytes != 1000) ++*wrong;
    std::memset(block->shared, 1, block->shared_bytes);
    std::memset(block->local, 1, block->local_stride * block->thread_padded);
  };
  ptx2cpu_kernel kernel = MakeKernel("shape", +check);
  kernel.local_bytes = 48;
  kernel.static_shared_bytes = 200;
  std::atomic<int> wrong = 0;
  auto* pointer = &wrong;
  REQUIRE_FALSE(Launch(kernel, {{10, 1, 1}, {5, 3, 3}, 800}, BytesOf(pointer)));
  CHECK(wrong == 0);
}

TEST_CASE("shapes beyond the limits are refused by name") {
  ptx2cpu_kernel kernel = MakeKernel("k", CountBlocks);
  const uint64_t zero = 0;
  const auto message = [&](LaunchShape shape) {
    auto error = Launch(kernel, shape, BytesOf(zero));
    REQUIRE(error);
    CHECK(error->kind == LaunchError::Kind::kShape);
    return error->message;
  };
  CHECK_THAT(message({{0, 1, 1}, {1, 1, 1}}), Contains("grid 0x1x1"));
  CHECK_THAT(message({{1, 65536, 1}, {1, 1, 1}}), Contains("65535"));
  CHECK_THAT(message({{1, 1, 1}, {1025, 1, 1}}), Contains("at most 1024 threads"));
  CHECK_THAT(message({{1, 1, 1}, {32, 33, 1}}), Contains("at most 1024 threads"));
  CHECK_THAT(message({{1, 1, 1}, {1, 1, 65}}), Contains("64"));
  CHECK_THAT(message({{1, 1, 1}, {1, 1, 1}, 300000}), Contains("shared memory"));
  kernel.parameter_bytes = 12;
  CHECK_THAT(message({{1, 1, 1}, {1, 1, 1}}), Contains("takes 12 bytes of parameters, got 8"));
  kernel.parameter_bytes = 8;
  kernel.required_threads[0] = 64;
  CHECK_THAT(message({{1, 1, 1}, {32, 1, 1}}), Contains(".reqntid"));
  kernel.required_threads[0] = 0;
  kernel.max_threads[0] = 64;
  CHECK_THAT(message({{1, 1, 1}, {65, 1, 1}}), Contains(".maxntid"));
}

TEST_CASE("a trap ends the launch with block, thread and line; the next launch works") {
  const uint64_t zero = 0;
  for (int round = 0; round < 3; ++round) {
    auto error = Launch(MakeKernel("trapper", Trap), {{8, 1, 1}, {16, 4, 1}}, BytesOf(zero));
    REQUIRE(error);
    CHECK(error->fault == PTX2CPU_FAULT_TRAP);
    CHECK(error->block.x == 3);
    CHECK(error->ptx_line == 77);
    CHECK(error->message == "kernel 'trapper', block (3,0,0), thread (1,2,0), PTX line 77: trap");
  }
}

TEST_CASE("bad addresses become errors, the process lives") {
  const uint64_t zero = 0;
  auto error = Launch(MakeKernel("null", WriteNull), {{1, 1, 1}, {1, 1, 1}}, BytesOf(zero));
  REQUIRE(error);
  CHECK(error->fault == PTX2CPU_FAULT_BAD_ADDRESS);
  CHECK(error->address == 16);
  CHECK(error->pc != 0);
  ptx2cpu_kernel kernel = MakeKernel("past", WritePastShared);
  kernel.static_shared_bytes = 4096;
  error = Launch(kernel, {{1, 1, 1}, {1, 1, 1}}, BytesOf(zero));
  REQUIRE(error);
  CHECK_THAT(error->message, Contains("just outside shared memory"));
}

TEST_CASE("device printf reaches the caller's sink") {
  const uint64_t zero = 0;
  std::string printed;
  LaunchOptions options;
  options.max_workers = 1;
  options.print = [&](std::string_view text) { printed += text; };
  REQUIRE_FALSE(Launch(MakeKernel("print", PrintBlock), {{2, 1, 1}, {1, 1, 1}}, BytesOf(zero), options));
  CHECK(printed == "block 0 value 1.50%\nblock 1 value 1.50%\n");
}

TEST_CASE("a cooperative launch of a kernel that never waits just runs, if the grid fits") {
  const ptx2cpu_kernel kernel = MakeKernel("count", CountBlocks);
  LaunchOptions options;
  options.cooperative = true;
  std::vector<std::atomic<uint32_t>> counts(1000000);
  auto* pointer = counts.data();
  REQUIRE_FALSE(Launch(kernel, {{500, 2, 1}, {32, 1, 1}}, BytesOf(pointer), options));
  for (size_t i = 0; i < 1000; ++i) REQUIRE(counts[i] == 1);
  auto error = Launch(kernel, {{1000000, 1, 1}, {32, 1, 1}}, BytesOf(pointer), options);
  REQUIRE(error);
  CHECK(error->kind == LaunchError::Kind::kResources);
}

TEST_CASE("a cooperative grid has one zeroed workspace, others have none") {
  const auto count = [](ptx2cpu_block* block) {
    if (block->grid_workspace == nullptr) return;
    auto* words = reinterpret_cast<std::atomic<uint32_t>*>(block->grid_workspace);
    *Param<std::atomic<uint32_t>*>(block) = ++words[3];
  };
  const ptx2cpu_kernel kernel = MakeKernel("workspace", +count);
  std::atomic<uint32_t> most = 0;
  auto* pointer = &most;
  LaunchOptions options;
  options.max_workers = 1;
  REQUIRE_FALSE(Launch(kernel, {{40, 1, 1}, {32, 1, 1}}, BytesOf(pointer), options));
  CHECK(most == 0);
  options.cooperative = true;
  for (int round = 0; round < 2; ++round) {
    REQUIRE_FALSE(Launch(kernel, {{40, 1, 1}, {32, 1, 1}}, BytesOf(pointer), options));
    CHECK(most == 40);
  }
}

TEST_CASE("a cluster of blocks that never wait knows its windows") {
  const auto check = [](ptx2cpu_block* block) {
    auto* wrong = Param<std::atomic<int>*>(block);
    if (block->cluster_nctarank != 4 || block->cluster_shared[block->cluster_ctarank] != block->shared)
      ++*wrong;
    if (block->ctaid[0] % 4 != block->cluster_ctarank) ++*wrong;
  };
  const ptx2cpu_kernel kernel = MakeKernel("cluster", +check);
  std::atomic<int> wrong = 0;
  auto* pointer = &wrong;
  REQUIRE_FALSE(Launch(kernel, {{32, 3, 1}, {32, 1, 1}, 100, {4, 1, 1}}, BytesOf(pointer)));
  CHECK(wrong == 0);
}
