// The blocks of a heap of device malloc (device_heap.h). Internal to this folder.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <mutex>

#include "runtime/device/device_heap.h"

namespace ptx2cpu::rt {

inline constexpr uint64_t kMinAlign = 16, kMaxAlign = uint64_t{1} << 20;
// Blocks up to half a chunk share chunks of one size; larger ones are chunks in a row.
inline constexpr uint64_t kChunkBytes = 64 << 10, kMaxShared = kChunkBytes / 2;
inline constexpr uint32_t kClasses = 45;
inline constexpr uint32_t kShards = 16;
inline constexpr uint64_t kSlack = 64 << 20;  // chunks that no shard has filled
inline constexpr size_t kMaxKept = 64;        // blocks of a class, large blocks

class DeviceHeap::Blocks {
 public:
  static std::unique_ptr<Blocks> Make(uint64_t limit);
  ~Blocks();

  void* Allocate(uint64_t bytes, uint64_t align, uint64_t gap);
  // The bytes it was allocated with; none: no block begins there.
  std::optional<uint64_t> Free(void* pointer, bool keep);
  std::optional<Block> Find(const std::byte* address, bool freed) const;
  std::optional<Block> FindNear(const std::byte* address) const;
  std::vector<Block> InUse() const;

 private:
  struct Chunk {
    // For the first chunk of a large block: chunks and bytes. For a shared chunk: the class, and the blocks
    // in use.
    std::atomic<uint64_t> large_bytes;
    std::atomic<uint32_t> class_plus_one;
    uint32_t shard, count;
    std::atomic<uint64_t> used[kChunkBytes / kMinAlign / 64];
    std::atomic<uint64_t> freed[kChunkBytes / kMinAlign / 64];  // and not in use again
    std::atomic<uint64_t> freed_bytes;                          // of a large one
    // For each block in use, the number of bytes by which it is smaller than its class.
    uint16_t unused[kChunkBytes / kMinAlign];
  };
  // Threads of different workers rarely use the same shard.
  struct alignas(64) Shard {
    SpinLock lock;
    std::array<std::vector<std::byte*>, kClasses> free;
    std::array<std::deque<std::byte*>, kClasses> kept;  // oldest first
  };

  Blocks() = default;
  void* FromClass(uint32_t size_class, uint64_t bytes);
  void* FromChunks(uint64_t bytes, uint64_t align, uint64_t gap);
  // `count` chunks in a row, the first at a multiple of `step`.
  std::optional<uint64_t> TakeChunks(uint64_t count, uint64_t step);
  std::optional<uint64_t> TakeKeptChunks(uint64_t count, uint64_t step);
  void GiveChunks(uint64_t first, uint64_t count);
  // Frees kept large blocks until at most this many remain.
  void GiveKept(size_t most);

  std::byte* mapping_ = nullptr;  // guard pages included
  uint64_t mapped_ = 0;
  std::byte* first_ = nullptr;  // chunk 0
  uint64_t chunk_count_ = 0;
  Chunk* chunks_ = nullptr;  // zero at first
  Shard shards_[kShards];
  std::mutex mutex_;                    // what follows
  std::map<uint64_t, uint64_t> spare_;  // runs of chunks: first, count
  std::deque<uint64_t> kept_;           // first chunks of large blocks, oldest first
};

}  // namespace ptx2cpu::rt
