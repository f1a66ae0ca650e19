// The heap of device malloc: what it gives, what it takes back, and what a kernel's overflow reaches.
#include "runtime/device/device_heap.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

using ptx2cpu::rt::DeviceHeap;

namespace {
constexpr uint64_t kLimit = 8 << 20;
}

TEST_CASE("blocks do not overlap, are aligned, and are counted") {
  DeviceHeap heap;
  std::mt19937_64 random(1);
  std::map<uintptr_t, uint64_t> blocks;
  uint64_t counted = 0;
  for (int i = 0; i < 20000; ++i) {
    if (blocks.size() > 300 || (!blocks.empty() && random() % 3 == 0)) {
      auto at = blocks.lower_bound(random());
      if (at == blocks.end()) at = blocks.begin();
      CHECK(heap.Free(reinterpret_cast<void*>(at->first)));
      counted -= (at->second + 15) / 16 * 16;
      blocks.erase(at);
      continue;
    }
    const uint64_t bytes = 1 + random() % (random() % 50 == 0 ? 300000 : 5000);
    const uint64_t align = random() % 4 == 0 ? uint64_t{1} << random() % 18 : 1;
    void* memory = heap.Allocate(bytes, align, kLimit);
    if (memory == nullptr) {
      CHECK(counted + bytes > kLimit / 2);
      continue;
    }
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    CHECK(begin % std::max<uint64_t>(align, 16) == 0);
    const auto next = blocks.lower_bound(begin);
    if (next != blocks.end()) CHECK(begin + bytes <= next->first);
    if (next != blocks.begin()) CHECK(std::prev(next)->first + std::prev(next)->second <= begin);
    std::memset(memory, 0xab, bytes);
    blocks[begin] = bytes;
    counted += (bytes + 15) / 16 * 16;
    CHECK(heap.bytes_in_use() == counted);
  }
  CHECK(heap.blocks_in_use() == blocks.size());
  const std::vector<DeviceHeap::Block> in_use = heap.BlocksInUse();
  REQUIRE(in_use.size() == blocks.size());
  size_t n = 0;
  for (const auto& [begin, bytes] : blocks) {
    CHECK(reinterpret_cast<uintptr_t>(in_use[n].base) == begin);
    CHECK(in_use[n++].bytes == bytes);
  }
  heap.Clear();
  CHECK(heap.BlocksInUse().empty());
  CHECK(heap.bytes_in_use() == 0);
  CHECK_FALSE(heap.was_used());
  CHECK(heap.Allocate(100, 1, kLimit) != nullptr);
}

TEST_CASE("the limit is a limit, and all of it can be had") {
  DeviceHeap heap;
  CHECK(heap.Allocate(kLimit + 1, 1, kLimit) == nullptr);
  void* all = heap.Allocate(kLimit, 1, kLimit);
  REQUIRE(all != nullptr);
  CHECK(heap.Allocate(1, 1, kLimit) == nullptr);
  CHECK(heap.Free(all));
  for (uint64_t taken = 0; taken < kLimit; taken += 48) {
    if (taken + 48 > kLimit) break;
    REQUIRE(heap.Allocate(48, 1, kLimit) != nullptr);
  }
}

TEST_CASE("a block that is not the heap's, not a beginning, or free already is not freed") {
  DeviceHeap heap, other;
  void* own = std::malloc(100);
  auto* small = static_cast<char*>(heap.Allocate(100, 1, kLimit));
  auto* large = static_cast<char*>(heap.Allocate(200000, 1, kLimit));
  void* theirs = other.Allocate(100, 1, kLimit);
  CHECK_FALSE(heap.Free(own));
  CHECK_FALSE(heap.Free(theirs));
  CHECK_FALSE(heap.Free(large + 65536));
  for (char* block : {small, large}) {
    CHECK_FALSE(heap.Free(block + 1));
    CHECK_FALSE(heap.Free(block + 16));
    CHECK(heap.Free(block));
    CHECK_FALSE(heap.Free(block));
  }
  std::free(own);
}

TEST_CASE("of blocks on both sides of an address the nearest is found, and none that is far") {
  DeviceHeap heap;
  auto* const first = static_cast<std::byte*>(heap.Allocate(1000, 1, kLimit));
  auto* const second = static_cast<std::byte*>(heap.Allocate(1000, 1, kLimit));
  const auto [low, high] = std::minmax(first, second);
  REQUIRE(high - low == 1024);
  CHECK(heap.FindNear(low + 999)->base == low);
  CHECK(heap.FindNear(low + 1000)->base == low);
  CHECK(heap.FindNear(low + 1011)->base == low);
  CHECK(heap.FindNear(low + 1013)->base == high);
  auto* const large = static_cast<std::byte*>(heap.Allocate(300000, 1, kLimit));
  CHECK(heap.FindNear(large + 300000)->base == large);
  CHECK_FALSE(heap.FindNear(std::max(large + 300000, high) + 400000));
  CHECK_FALSE(heap.FindNear(&heap));
}

TEST_CASE("freed blocks that are kept are known as such, and come last") {
  DeviceHeap heap;
  for (const uint64_t bytes : {uint64_t{61}, uint64_t{200001}}) {
    auto* const block = static_cast<std::byte*>(heap.Allocate(bytes, 1, kLimit));
    REQUIRE(heap.Find(block + bytes - 1));
    CHECK(heap.Find(block)->bytes == bytes);
    CHECK_FALSE(heap.Find(block + bytes));
    REQUIRE(heap.FindNear(block + bytes));
    CHECK(heap.FindNear(block + bytes)->base == block);
    CHECK_FALSE(heap.FindFreed(block));
    CHECK(heap.Free(block, true));
    CHECK_FALSE(heap.Free(block, true));
    CHECK_FALSE(heap.Find(block));
    REQUIRE(heap.FindFreed(block + bytes - 1));
    CHECK(heap.FindFreed(block)->base == block);
    CHECK(heap.FindFreed(block)->bytes == bytes);
    for (int i = 0; i < 20; ++i) {
      void* const other = heap.Allocate(bytes, 1, kLimit);
      CHECK(other != block);
      CHECK(heap.Free(other, true));
    }
  }
  CHECK(heap.bytes_in_use() == 0);
  // Where memory is short, what is kept is given out.
  for (uint64_t taken = 0; taken + 200016 <= kLimit; taken += 200016)
    REQUIRE(heap.Allocate(200001, 1, kLimit) != nullptr);
}

TEST_CASE("blocks with a gap have no other block before and after them, freed ones included") {
  DeviceHeap heap;
  constexpr uint64_t kGap = 16;
  std::vector<std::pair<std::byte*, uint64_t>> blocks;
  for (const uint64_t bytes : {uint64_t{64}, uint64_t{61}, uint64_t{128}, uint64_t{32768}, uint64_t{65536}}) {
    for (int i = 0; i < 40; ++i)
      blocks.emplace_back(static_cast<std::byte*>(heap.Allocate(bytes, i % 3 == 0 ? 256 : 16, kLimit, kGap)),
                          bytes);
  }
  for (size_t i = 0; i < blocks.size(); i += 2) CHECK(heap.Free(blocks[i].first, true));
  for (const auto& [block, bytes] : blocks) {
    REQUIRE(block != nullptr);
    for (std::byte* const beside : {block - 1, block + bytes, block + bytes + kGap - 1}) {
      CHECK_FALSE(heap.Find(beside));
      CHECK_FALSE(heap.FindFreed(beside));
    }
  }
  // The limit is that of the blocks alone.
  constexpr uint64_t kLarge = 16 << 20;
  DeviceHeap full;
  for (uint64_t taken = 0; taken + 16 <= kLarge; taken += 16) {
    if (full.Allocate(16, 16, kLarge, kGap) == nullptr) FAIL("no memory after " << taken << " bytes");
  }
}

TEST_CASE("what a kernel writes past its block reaches neither the program's heap nor this heap's tables") {
  DeviceHeap heap;
  std::vector<char*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(static_cast<char*>(heap.Allocate(40, 1, kLimit)));
  void* own = std::malloc(40);
  std::memset(own, 7, 40);
  for (char* block : blocks) std::memset(block, 0xff, 40 + 64);  // each over the next ones
  CHECK(std::memcmp(own, "\7\7\7\7\7\7\7\7", 8) == 0);
  for (char* block : blocks) CHECK(heap.Free(block));
  CHECK(heap.bytes_in_use() == 0);
  for (int i = 0; i < 1000; ++i) CHECK(heap.Allocate(40, 1, kLimit) != nullptr);
  std::free(own);
}

TEST_CASE("threads allocate and free at once, also each other's blocks") {
  DeviceHeap heap;
  std::vector<void*> given(4 * 500);
  const auto run = [&](auto work) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) threads.emplace_back([&, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
  };
  run([&](size_t t) {
    for (size_t i = 0; i < 500; ++i) given[t * 500 + i] = heap.Allocate(16 + (i * 37) % 1000, 1, kLimit);
  });
  std::atomic<int> freed = 0;
  run([&](size_t t) {  // each block is tried by two threads
    for (size_t i = 0; i < 1000; ++i) freed += heap.Free(given[(t * 500 + i) % given.size()]);
  });
  CHECK(freed == 2000);
  CHECK(heap.blocks_in_use() == 0);
}
