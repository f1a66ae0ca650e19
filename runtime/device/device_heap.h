// The heap of device malloc: memory lives until it is freed, whichever launch allocated it, or until the heap
// is emptied. It has addresses of its own between guard pages, and its records of its blocks lie
// elsewhere: a kernel that writes past a block reaches other blocks of device malloc and nothing else.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

class DeviceHeap {
 public:
  DeviceHeap();
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // A power of two aligns the result; at least 16. Null for no bytes, and where more than `limit` bytes would
  // be taken. The first limit also sets how many addresses the heap has. While there is room, the `gap` bytes
  // after the block belong to no other block: an access just before or after a block then reaches none,
  // whatever has been allocated and freed before.
  void* Allocate(uint64_t bytes, uint64_t align, uint64_t limit, uint64_t gap = 0);
  // False: this heap's Allocate did not return it, or it was freed already. `keep`: similar blocks are reused
  // before it, so that accesses after the free still find it free.
  bool Free(void* pointer, bool keep = false);
  // The block that holds the address, with the requested number of bytes. For checks: slow.
  struct Block {
    std::byte* base = nullptr;
    uint64_t bytes = 0;
  };
  std::optional<Block> Find(const void* address) const;
  // The same for a block that was freed and is not in use again.
  std::optional<Block> FindFreed(const void* address) const;
  // The block in use that is nearest to the address, if one is within 64 KiB of it.
  std::optional<Block> FindNear(const void* address) const;
  // The blocks in use, by address. No kernel may run.
  std::vector<Block> BlocksInUse() const;
  // Frees all blocks. No kernel may run.
  void Clear();

  uint64_t bytes_in_use() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t blocks_in_use() const { return blocks_.load(std::memory_order_relaxed); }
  uint64_t most_bytes() const { return most_bytes_.load(std::memory_order_relaxed); }
  bool was_used() const { return was_used_.load(std::memory_order_relaxed); }  // since the start or Clear

 private:
  class Blocks;
  bool Take(uint64_t bytes, uint64_t limit);
  Blocks* TheBlocks(uint64_t limit);

  SpinLock begin_;  // of the first allocation
  std::unique_ptr<Blocks> owned_;
  std::atomic<Blocks*> made_{nullptr};
  alignas(64) std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> blocks_{0}, most_bytes_{0};
  std::atomic<bool> was_used_{false};
};

}  // namespace ptx2cpu::rt
