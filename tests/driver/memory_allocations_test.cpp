// The table of allocations and its heap, against naive models.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/memory_heap.h"
#include "runtime/cuda/driver/memory/memory_probe.h"

using namespace ptx2cpu::driver;

namespace {

Range Piece(uintptr_t base, size_t size, RangeKind kind = RangeKind::kDevice) {
  Range range;
  range.base = base, range.size = size, range.kind = kind;
  return range;
}

}  // namespace

TEST_CASE("allocations: random ranges are found as in a list", "[memory]") {
  Allocations table;
  std::vector<Range> list;
  std::mt19937_64 random(7);
  uint64_t last_id = 0;
  for (int step = 0; step < 20000; ++step) {
    const uintptr_t at = 1 + random() % 5000;
    const size_t size = 1 + random() % 40;
    const auto holds = [&](const Range& range) { return at - range.base < range.size; };
    switch (random() % 4) {
      case 0: {
        const bool overlaps = std::any_of(list.begin(), list.end(), [&](const Range& r) {
          return r.base < at + size && at < r.base + r.size;
        });
        REQUIRE(table.Insert(Piece(at, size)) == !overlaps);
        if (!overlaps) list.push_back(Piece(at, size));
        break;
      }
      case 1: {
        const auto same =
            std::find_if(list.begin(), list.end(), [&](const Range& r) { return r.base == at; });
        REQUIRE(table.Remove(at, [](const Range&) { return true; }).has_value() == (same != list.end()));
        if (same != list.end()) list.erase(same);
        break;
      }
      default: {
        const auto found = std::find_if(list.begin(), list.end(), holds);
        const Allocations::Found look = table.Look(at);
        REQUIRE(look.range.has_value() == (found != list.end()));
        if (look.range) {
          CHECK(look.range->base == found->base);
          CHECK(look.end == found->base + found->size);
        } else {
          uintptr_t next = UINTPTR_MAX;
          for (const Range& r : list) {
            if (r.base > at) next = std::min(next, r.base);
          }
          CHECK(look.end == next);
        }
      }
    }
    if (table.count() != list.size()) FAIL("count");
  }
  for (const Range& range : list) last_id = std::max(last_id, table.Find(range.base)->buffer_id);
  REQUIRE(table.Insert(Piece(1 << 20, 1)));
  CHECK(table.Find(uintptr_t{1} << 20)->buffer_id > last_id);
}

TEST_CASE("allocations: what is known of a range changes for all threads", "[memory]") {
  Allocations table;
  REQUIRE(table.Insert(Piece(4096, 100)));
  CHECK_FALSE(table.Find(uintptr_t{4100})->sync_memops);
  std::thread([&] { CHECK(table.Update(4100, [](Range& r) { r.sync_memops = true, r.base = 1; })); }).join();
  CHECK(table.Find(uintptr_t{4100})->sync_memops);
  CHECK(table.Find(uintptr_t{4100})->base == 4096);  // bases stay
  CHECK(table.RemoveAll([](const Range& r) { return r.sync_memops; }).size() == 1);
  CHECK_FALSE(table.Find(uintptr_t{4100}));
  CHECK_FALSE(table.Update(4100, [](Range&) {}));
}

TEST_CASE("allocations: many threads insert, look and remove", "[memory]") {
  Allocations table;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uintptr_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const uintptr_t own = (t + 1) << 32;
      for (uintptr_t round = 0; round < 3000; ++round) {
        const uintptr_t at = own + round % 64 * 256;
        if (!table.Insert(Piece(at, 256))) ++wrong;
        const auto mine = table.Find(at + 255);
        if (!mine || mine->base != at) ++wrong;
        const auto other =
            table.Find(((t + 1) % 4 + 1) << 32 | 17);  // comes and goes, but is never a neighbour
        if (other && other->size != 256) ++wrong;
        if (!table.Remove(at, [](const Range&) { return true; })) ++wrong;
        if (table.Find(at)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(table.count() == 0);
}

TEST_CASE("heap: random blocks keep their contents and never overlap", "[memory]") {
  MemoryLimits limits(size_t{1} << 40, size_t{1} << 40);
  MemoryHeap heap(limits);
  struct Block {
    unsigned char* memory;
    size_t bytes, alignment;
    unsigned char mark;
  };
  std::vector<Block> blocks;
  std::mt19937 random(3);
  size_t taken = 0;
  for (int step = 0; step < 4000; ++step) {
    if (random() % 5 < 3 || blocks.empty()) {
      const unsigned scale = random() % 20;
      const size_t bytes = 1 + random() % (size_t{1} << scale);
      const size_t alignment = random() % 8 == 0 ? 4096 : 512;
      auto* memory = static_cast<unsigned char*>(heap.Allocate(bytes, alignment));
      REQUIRE(memory != nullptr);
      REQUIRE(reinterpret_cast<uintptr_t>(memory) % alignment == 0);
      std::memset(memory, step & 255, bytes);
      blocks.push_back({memory, bytes, alignment, static_cast<unsigned char>(step & 255)});
      taken += bytes;
    } else {
      const size_t index = random() % blocks.size();
      const Block block = blocks[index];
      const bool intact =
          block.memory[0] == block.mark && std::memcmp(block.memory, block.memory + 1, block.bytes - 1) == 0;
      REQUIRE(intact);
      heap.Free(block.memory, block.bytes, block.alignment);
      blocks[index] = blocks.back();
      blocks.pop_back();
      taken -= block.bytes;
    }
    REQUIRE(limits.free() == limits.total() - taken);
  }
  for (const Block& block : blocks) heap.Free(block.memory, block.bytes, block.alignment);
  CHECK(limits.free() == limits.total());
}

// As recorded on an H100: blocks in processes of their own, read at distances from them.
TEST_CASE("heap: around a block as much can be touched as on a GPU", "[memory]") {
  constexpr size_t kMiB = 1 << 20;
  MemoryLimits limits(size_t{1} << 40, size_t{1} << 40);
  MemoryHeap heap(limits, MemoryHeap::Bounds::kGranule);
  struct Recorded {
    size_t bytes, after;  // so many bytes after its end
  };
  for (const auto [bytes, after] :
       {Recorded{1, 2 * kMiB + 1}, Recorded{512, 2 * kMiB + 1}, Recorded{4096, 2 * kMiB + 1},
        Recorded{65536, 2 * kMiB + 1}, Recorded{524288, 2 * kMiB + 1}, Recorded{kMiB, 2 * kMiB + 1},
        Recorded{kMiB + 1, 2 * kMiB + 1}, Recorded{2 * kMiB, 2 * kMiB + 1}, Recorded{2 * kMiB + 1, kMiB + 1},
        Recorded{3 * kMiB, kMiB / 2 + 1}, Recorded{4 * kMiB, 0}}) {
    INFO(bytes);
    auto* memory = static_cast<char*>(heap.Allocate(bytes));
    REQUIRE(memory != nullptr);
    CHECK(Readable(memory - 2 * kMiB, 2 * kMiB + bytes + after));
    heap.Free(memory, bytes);
    if (bytes >= MemoryHeap::kOwnMapping) CHECK_FALSE(Readable(memory - 512, 1));
  }
  auto* large = static_cast<char*>(heap.Allocate(5 * kMiB));
  CHECK_FALSE(Readable(large, 8 * kMiB));
  CHECK_FALSE(Readable(large - 4 * kMiB, 8 * kMiB));
  heap.Free(large, 5 * kMiB);
}

TEST_CASE("the nearest allocation of a bad address", "[memory]") {
  Allocations table;
  REQUIRE(table.Insert({.base = 0x10000, .size = 400}));
  REQUIRE(table.Insert({.base = 0x20000, .size = 8}));
  CHECK(table.Near(0x10000 + 412) == "12 bytes after allocation 0x10000 of 400 bytes");
  CHECK(table.Near(0x10000 - 4) == "4 bytes before allocation 0x10000 of 400 bytes");
  CHECK(table.Near(0x20000 - 4) == "4 bytes before allocation 0x20000 of 8 bytes");
  CHECK(table.Near(0x10000 + 399).empty());
  CHECK(table.Near(uintptr_t{1} << 40).empty());
}

TEST_CASE(
    "heap: asked to check bounds, large blocks end at a page that no thread can touch, and are out of reach "
    "when free",
    "[memory]") {
  MemoryLimits limits(size_t{1} << 40, size_t{1} << 40);
  MemoryHeap heap(limits, MemoryHeap::Bounds::kStrict);
  for (const size_t bytes : {size_t{65536}, size_t{100000}, size_t{1} << 20, (size_t{5} << 20) + 512}) {
    auto* memory = static_cast<char*>(heap.Allocate(bytes));
    REQUIRE(memory != nullptr);
    CHECK(Readable(memory, bytes));
    const size_t end = (bytes + MemoryHeap::kAlignment - 1) / MemoryHeap::kAlignment * MemoryHeap::kAlignment;
    CHECK_FALSE(Readable(memory + end, 1));
    heap.Free(memory, bytes);
    CHECK_FALSE(Readable(memory, 1));
    CHECK(heap.Allocate(bytes) == memory);  // kept for the next of its size
    heap.Free(memory, bytes);
    heap.Trim();
  }
  auto* small = static_cast<char*>(heap.Allocate(100));
  CHECK(heap.Shares(small));
  CHECK_FALSE(heap.Shares(&limits));
  heap.Free(small, 100);
}

#if !defined(__has_feature) || !__has_feature(thread_sanitizer)  // whose own memory needs those mappings
TEST_CASE("heap: more large blocks than the system lets a process have mappings", "[memory]") {
  MemoryLimits limits(size_t{1} << 40, size_t{1} << 40);
  MemoryHeap heap(limits);
  std::vector<char*> blocks;
  for (int i = 0; i < 40000; ++i) {
    blocks.push_back(static_cast<char*>(heap.Allocate(MemoryHeap::kOwnMapping)));
    if (blocks.back() == nullptr) FAIL("no memory for block " << i);
    if (i % 1000 == 0) blocks.back()[MemoryHeap::kOwnMapping - 1] = static_cast<char>(i / 1000);
  }
  bool intact = true;
  for (size_t i = 0; i < blocks.size(); i += 1000)
    intact = intact && blocks[i][MemoryHeap::kOwnMapping - 1] == static_cast<char>(i / 1000);
  CHECK(intact);
  for (char* block : blocks) heap.Free(block, MemoryHeap::kOwnMapping);
  CHECK(limits.free() == limits.total());
}
#endif

TEST_CASE("heap: no more than the machine has", "[memory]") {
  MemoryLimits limits(1 << 20, 1 << 19);
  MemoryHeap heap(limits);
  CHECK(limits.free() == 1 << 19);
  CHECK(heap.Allocate(0) == nullptr);
  CHECK(heap.Allocate(SIZE_MAX) == nullptr);
  CHECK(heap.Allocate((1 << 20) + 1) == nullptr);
  void* all = heap.Allocate(1 << 20);
  REQUIRE(all != nullptr);
  CHECK(limits.free() == 0);
  CHECK(heap.Allocate(1) == nullptr);
  heap.Free(all, 1 << 20);
  CHECK(limits.free() == 1 << 19);
  void* small = heap.Allocate(1);
  CHECK(small != nullptr);
  heap.Free(small, 1);
}

TEST_CASE("heap: many threads", "[memory]") {
  MemoryLimits limits(size_t{1} << 40, size_t{1} << 40);
  MemoryHeap heap(limits);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int step = 0; step < 1000; ++step) {
        const size_t bytes = 1 + random() % 100000;
        auto* memory = static_cast<unsigned char*>(heap.Allocate(bytes));
        if (memory == nullptr) {
          ++wrong;
          continue;
        }
        memory[0] = memory[bytes - 1] = static_cast<unsigned char>(t);
        if (random() % 16 == 0) std::this_thread::yield();
        if (memory[0] != t || memory[bytes - 1] != t) ++wrong;
        heap.Free(memory, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(limits.free() == limits.total());
}
