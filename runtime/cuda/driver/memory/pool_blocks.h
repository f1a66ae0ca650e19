// The memory of one stream-ordered pool: chunks from the system, cut into blocks.
//
// A freed block carries the ticket of its free. It may be allocated again at once to the stream that freed
// it, to any stream when the ticket is done, and else to a stream that then waits for the ticket.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/cuda/driver/context/memory_limits.h"
#include "runtime/cuda/driver/core/local_socket.h"
#include "runtime/stream/stream.h"

namespace ptx2cpu::driver {

class PoolBlocks {
 public:
  static constexpr size_t kAlignment = 512;
  static constexpr size_t kChunk = 32 << 20, kChunkGrain = 2 << 20;

  // `most`: bytes the pool may hold; 0: what the machine has. `shared`: its chunks are parts of one file
  // without a name, which other processes may map.
  PoolBlocks(MemoryLimits& limits, size_t most, bool shared = false);
  ~PoolBlocks();
  PoolBlocks(const PoolBlocks&) = delete;
  PoolBlocks& operator=(const PoolBlocks&) = delete;

  struct Reuse {
    bool completed = true;  // take blocks of other streams whose free is done
    bool wait = true;       // take blocks of other streams by waiting for their free
  };
  // Null: no memory. `*wait` receives the ticket that the stream must wait for before it accesses the block;
  // mostly none.
  std::byte* Allocate(size_t bytes, const rt::Stream* stream, Reuse reuse, rt::Ticket* wait);
  // A block that Allocate returned; reusable by others when `freed` is done.
  void Free(std::byte* block, rt::Ticket freed);
  // Returns chunks that are known to be completely free to the system while more than `keep` bytes
  // remain.
  void Trim(size_t keep);

  struct Sizes {
    size_t reserved = 0, reserved_high = 0;  // bytes of chunks
    size_t used = 0, used_high = 0;          // bytes requested
  };
  Sizes sizes() const;
  // The file of a shared pool, and the offset of a chunk's byte in it.
  int file() const { return file_.number(); }
  size_t OffsetOf(const std::byte* byte) const;
  void ResetReservedHigh();
  void ResetUsedHigh();

 private:
  struct Chunk {
    std::byte* base = nullptr;
    size_t bytes = 0;
    size_t offset = 0;  // in the file
  };
  struct Block {
    size_t bytes = 0;
    size_t asked = 0;  // 0: free
    std::byte* chunk = nullptr;
    rt::Ticket freed;  // of free blocks; no stream: done
  };
  using Blocks = std::map<std::byte*, Block>;

  Blocks::iterator FindFree(size_t bytes, const rt::Stream* stream, Reuse reuse, rt::Ticket* wait);
  Blocks::iterator Grow(size_t bytes);
  std::byte* MapChunk(size_t bytes);
  void UnmapChunk(const Chunk& chunk);
  std::byte* Use(Blocks::iterator block, size_t bytes, size_t asked);
  void AddFree(Blocks::iterator block);
  void RemoveFree(Blocks::iterator block) { free_.erase({block->second.bytes, block->first}); }
  Blocks::iterator Merge(Blocks::iterator left, Blocks::iterator right);
  void MergeDone();

  MemoryLimits& limits_;
  const size_t most_;
  const Descriptor file_;  // nothing: private memory
  size_t file_bytes_ = 0;
  mutable std::mutex mutex_;
  std::map<std::byte*, Chunk> chunks_;
  Blocks blocks_;                                 // all, free and used
  std::set<std::pair<size_t, std::byte*>> free_;  // by size
  Sizes sizes_;
};

}  // namespace ptx2cpu::driver
