// The output of the kernels of one launch, collected while it runs and written when it has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/worker/spin_lock.h"

namespace ptx2cpu::rt {

class PrintLog {
 public:
  // Blocks that run independently of each other are printed one after the other, in the order of the grid;
  // where blocks wait for each other the order is that of time.
  enum class Order : uint8_t { kByBlock, kByTime };

  // From any thread. Takes a lock that is the worker's own. Beyond `limit` bytes the oldest pieces are lost.
  void Append(unsigned worker, uint64_t block, std::string text, uint64_t limit);
  // For standard error, in the order of time: assertions.
  void AppendError(std::string_view text);

  // When no thread appends any more.
  std::string Take(Order order, uint64_t limit);
  std::string TakeErrors() { return std::move(errors_); }

 private:
  struct Piece {
    uint64_t time, block;
    std::string text;
  };
  struct alignas(64) Shard {
    SpinLock lock;
    std::deque<Piece> pieces;
    uint64_t bytes = 0;
  };
  static constexpr unsigned kShards = 16;
  Shard* Shards();

  std::atomic<Shard*> shards_{nullptr};  // made for the first piece: most launches print nothing
  std::unique_ptr<Shard[]> owned_;
  std::atomic<uint64_t> time_{0};
  SpinLock lock_;  // of owned_ and errors_
  std::string errors_;
};

}  // namespace ptx2cpu::rt
