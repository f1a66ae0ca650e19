// Stream-ordered pools: which stream gets a freed block and when, and how much memory pools hold.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "memory_gate.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace driver_memory_test {

namespace {

struct TestPool {
  TestPool() {
    UseContext();
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    REQUIRE(cuMemPoolCreate(&handle, &properties) == CUDA_SUCCESS);
  }
  ~TestPool() { cuMemPoolDestroy(handle); }
  TestPool(const TestPool&) = delete;
  TestPool& operator=(const TestPool&) = delete;
  operator CUmemoryPool() const { return handle; }

  CUdeviceptr Take(size_t bytes, CUstream stream) {
    CUdeviceptr memory = 0;
    REQUIRE(cuMemAllocFromPoolAsync(&memory, bytes, handle, stream) == CUDA_SUCCESS);
    return memory;
  }
  void Set(CUmemPool_attribute attribute, int value) {
    REQUIRE(cuMemPoolSetAttribute(handle, attribute, &value) == CUDA_SUCCESS);
  }
  cuuint64_t Get(CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    REQUIRE(cuMemPoolGetAttribute(handle, attribute, &value) == CUDA_SUCCESS);
    return value;
  }

  CUmemoryPool handle = nullptr;
};

// More than fits beside another of its size in what a pool takes from the system at once.
constexpr size_t kMax = 20 << 20;

}  // namespace

TEST_CASE("pool: a freed block goes to its own stream at once, to another when the free is done",
          "[memory]") {
  TestPool pool;
  TestStream first, second;
  const CUdeviceptr block = pool.Take(kMax, first);
  Gate gate(first);
  REQUIRE(cuMemFreeAsync(block, first) == CUDA_SUCCESS);
  const CUdeviceptr elsewhere = pool.Take(kMax, second);
  CHECK(elsewhere != block);  // the first stream is not there yet
  const CUdeviceptr again = pool.Take(kMax, first);
  CHECK(again == block);
  REQUIRE(cuMemFreeAsync(again, first) == CUDA_SUCCESS);
  gate.Open();
  REQUIRE(cuStreamSynchronize(first) == CUDA_SUCCESS);
  CHECK(pool.Take(kMax, second) == block);
  REQUIRE(cuMemFreeAsync(block, second) == CUDA_SUCCESS);
  REQUIRE(cuMemFreeAsync(elsewhere, second) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(second) == CUDA_SUCCESS);
}

TEST_CASE("pool: without opportunistic reuse another stream gets other memory", "[memory]") {
  TestPool pool;
  pool.Set(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 0);
  TestStream first, second;
  const CUdeviceptr block = pool.Take(kMax, first);
  Gate gate(first);
  REQUIRE(cuMemFreeAsync(block, first) == CUDA_SUCCESS);
  gate.Open();
  REQUIRE(cuStreamSynchronize(first) == CUDA_SUCCESS);
  const CUdeviceptr other = pool.Take(kMax, second);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == kMax);
  REQUIRE(cuMemFreeAsync(other, second) == CUDA_SUCCESS);
}

TEST_CASE("pool: when nothing else is left a stream waits for another's free", "[memory]") {
  UseContext();
  ptx2cpu::driver::MemoryLimits limits(40 << 20, 40 << 20);
  PoolBlocks blocks(limits, 0);
  TestStream first, second;
  auto* one = ptx2cpu::driver::From<StreamObject>(first);
  auto* two = ptx2cpu::driver::From<StreamObject>(second);
  ptx2cpu::rt::Ticket wait;
  std::byte* block = blocks.Allocate(kMax, &one->queue(), {}, &wait);
  REQUIRE(block != nullptr);
  CHECK(wait.stream == nullptr);
  Gate gate(first);
  blocks.Free(block, one->queue().Last());
  CHECK(blocks.Allocate(kMax, &two->queue(), {true, false}, &wait) == nullptr);
  CHECK(blocks.Allocate(kMax, &two->queue(), {true, true}, &wait) == block);
  REQUIRE(wait.stream.get() == &one->queue());
  CHECK_FALSE(wait.Done());
  gate.Open();
  wait.Synchronize();
  CHECK(wait.Done());
  blocks.Free(block, {});
  blocks.Trim(0);
  CHECK(blocks.sizes().reserved == 0);
  CHECK(limits.free() == limits.total());
}

TEST_CASE("pool: random blocks of several streams never overlap and keep their contents", "[memory]") {
  TestPool pool;
  std::mt19937 random(23);
  TestStream streams[3];
  struct Block {
    size_t bytes;
    unsigned char mark;
    int stream;
  };
  std::map<CUdeviceptr, Block> live;
  size_t used = 0;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 == 0 || live.empty()) {
      const size_t bytes = 1 + random() % (random() % 30 == 0 ? 3 << 20 : 3000);
      const int stream = static_cast<int>(random() % 3);
      const CUdeviceptr memory = pool.Take(bytes, streams[stream]);
      const auto next = live.lower_bound(memory);
      if (next != live.end()) REQUIRE(memory + bytes <= next->first);
      if (next != live.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second.bytes <= memory);
      REQUIRE(cuMemsetD8Async(memory, static_cast<unsigned char>(step), bytes, streams[stream]) ==
              CUDA_SUCCESS);
      live[memory] = {bytes, static_cast<unsigned char>(step), stream};
      used += bytes;
    } else {
      auto it = live.begin();
      std::advance(it, static_cast<long>(random() % live.size()));
      const auto [memory, block] = *it;
      if (random() % 8 == 0) {
        REQUIRE(cuStreamSynchronize(streams[block.stream]) == CUDA_SUCCESS);
        const auto* bytes = reinterpret_cast<unsigned char*>(memory);
        REQUIRE((bytes[0] == block.mark && std::memcmp(bytes, bytes + 1, block.bytes - 1) == 0));
      }
      REQUIRE(cuMemFreeAsync(memory, streams[block.stream]) == CUDA_SUCCESS);
      used -= block.bytes;
      live.erase(it);
    }
    if (step % 100 == 0) REQUIRE(pool.Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == used);
  }
  for (const auto& [memory, block] : live)
    REQUIRE(cuMemFreeAsync(memory, streams[block.stream]) == CUDA_SUCCESS);
  for (const TestStream& stream : streams) REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_USED_MEM_HIGH) > 0);
  REQUIRE(cuMemPoolTrimTo(pool, 0) == CUDA_SUCCESS);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);  // all of it was joined again
  CHECK(pool.Get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) > 0);
}

TEST_CASE("pool: what is held beyond the threshold goes at the next wait", "[memory]") {
  TestPool pool;
  TestStream stream;
  constexpr size_t kLarge = 200 << 20;
  REQUIRE(cuMemFreeAsync(pool.Take(kLarge, stream), stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
  cuuint64_t threshold = UINT64_MAX;
  REQUIRE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) == CUDA_SUCCESS);
  REQUIRE(cuMemFreeAsync(pool.Take(kLarge, stream), stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= kLarge);
  REQUIRE(cuMemPoolTrimTo(pool, kLarge) == CUDA_SUCCESS);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= kLarge);
  REQUIRE(cuMemPoolTrimTo(pool, kLarge - 1) == CUDA_SUCCESS);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= kLarge - 1);
  REQUIRE(cuMemPoolTrimTo(pool, 0) == CUDA_SUCCESS);
  CHECK(pool.Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
}

TEST_CASE("pool: one that is destroyed lives as long as its memory is used", "[memory]") {
  UseContext();
  TestStream stream;
  CUdeviceptr memory = 0;
  {
    TestPool pool;
    memory = pool.Take(1000, stream);
  }
  REQUIRE(cuMemsetD8Async(memory, 6, 1000, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(*reinterpret_cast<unsigned char*>(memory + 999) == 6);
  CHECK(cuMemFreeAsync(memory, stream) == CUDA_SUCCESS);
  CHECK_FALSE(Allocations::Get().Find(static_cast<uintptr_t>(memory)).has_value());
}

TEST_CASE("pool: a pool of its own size is full when it is full", "[memory]") {
  UseContext();
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.maxSize = 4 << 20;
  CUmemoryPool pool = nullptr;
  REQUIRE(cuMemPoolCreate(&pool, &properties) == CUDA_SUCCESS);
  TestStream stream;
  CUdeviceptr a = 0, b = 0;
  REQUIRE(cuMemAllocFromPoolAsync(&a, 3 << 20, pool, stream) == CUDA_SUCCESS);
  CHECK(cuMemAllocFromPoolAsync(&b, 2 << 20, pool, stream) == CUDA_ERROR_OUT_OF_MEMORY);
  REQUIRE(cuMemFreeAsync(a, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocFromPoolAsync(&b, 2 << 20, pool, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemFreeAsync(b, stream) == CUDA_SUCCESS);
  cuMemPoolDestroy(pool);
}

TEST_CASE("pool: memory of a captured allocation belongs to the graph", "[memory]") {
  UseContext();
  TestStream stream;
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
  REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  REQUIRE(cuMemAllocAsync(&memory, 4096, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemsetD8Async(memory, 3, 4096, stream) == CUDA_SUCCESS);
  unsigned char out = 0;
  REQUIRE(cuMemcpyDtoHAsync_v2(&out, memory + 4095, 1, stream) == CUDA_SUCCESS);
  REQUIRE(cuMemFreeAsync(memory, stream) == CUDA_SUCCESS);
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(out == 0);
  cuuint64_t used = 0;
  REQUIRE(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);  // of other tests
  REQUIRE(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS);
  const cuuint64_t others = used;  // of other tests; this graph's memory comes with the launch
  CUgraphExec exec = nullptr;
  REQUIRE(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
  for (int launch = 0; launch < 2; ++launch) {
    out = 0;
    REQUIRE(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(out == 3);
    REQUIRE(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS);
    CHECK(used == others + 4096);
  }
  REQUIRE(cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(Allocations::Get().Find(static_cast<uintptr_t>(memory)).has_value());  // the executable graph has it
  REQUIRE(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  REQUIRE(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS);
  CHECK(used == others + 4096);  // kept for other launches until it is trimmed
  REQUIRE(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
  REQUIRE(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &used) == CUDA_SUCCESS);
  CHECK(used == others);
  CHECK_FALSE(Allocations::Get().Find(static_cast<uintptr_t>(memory)).has_value());
}

}  // namespace driver_memory_test
