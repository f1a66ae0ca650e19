// The heap of device malloc: memory lives until it is freed, whichever launch asked for it, or until the heap
// is emptied.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

class DeviceHeap {
 public:
  DeviceHeap() = default;
  ~DeviceHeap() { Clear(); }
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // A power of two aligns the result; at least 16. Null for no bytes, and where more than `limit` bytes would
  // be taken.
  void* Allocate(uint64_t bytes, uint64_t align, uint64_t limit);
  // False: this heap's Allocate did not return it, or it was freed already.
  bool Free(void* pointer);
  // Frees all of it. No kernel may run.
  void Clear();

  uint64_t bytes_in_use() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t blocks_in_use() const { return blocks_.load(std::memory_order_relaxed); }
  uint64_t most_bytes() const { return most_bytes_.load(std::memory_order_relaxed); }
  bool was_used() const { return was_used_.load(std::memory_order_relaxed); }  // since the start or Clear

 private:
  // In front of each block. Blocks of a shard are a ring, so that Clear finds them.
  struct alignas(16) Head {
    Head *next = nullptr, *before = nullptr;
    void* memory = nullptr;  // as the host's allocator gave it
    uint64_t bytes = 0;      // as counted
    uint64_t mark = 0;       // says that this is a head, and of which heap
    uint32_t shard = 0;
  };
  // Threads of different workers rarely meet in one.
  struct alignas(64) Shard {
    SpinLock lock;
    Head* first = nullptr;
  };
  static constexpr uint32_t kShards = 16;
  bool Take(uint64_t bytes, uint64_t limit);
  uint64_t mark() const;

  Shard shards_[kShards];
  alignas(64) std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> blocks_{0}, most_bytes_{0};
  std::atomic<bool> was_used_{false};
};

}  // namespace ptx2cpu::rt
