// Blocks of a plain launch that run counting code (runtime/profile): some, spread over the grid. Internal to
// this folder.
#pragma once

#include <algorithm>

#include "runtime/launch/blocks_of_code.h"

namespace ptx2cpu::rt {

// The counted blocks of one worker.
class CountedBlocks {
 public:
  // `code`: null: no block is counted.
  CountedBlocks(LaunchJob& job, const ptx2cpu_kernel* code, uint64_t total, unsigned worker)
      : job_(job), code_(code), blocks_(job, worker) {
    if (code == nullptr) return;  // no division: launches may be tiny
    const uint64_t counted = std::clamp<uint64_t>(total / kPart, 1, kMaxCounted);
    stride_ = total / counted;
  }
  ~CountedBlocks();
  CountedBlocks(const CountedBlocks&) = delete;
  CountedBlocks& operator=(const CountedBlocks&) = delete;

  bool any() const { return code_ != nullptr; }
  // Null: the block is not counted.
  const BlockMemory* MemoryOf(const ptx2cpu_block& block) const { return blocks_.MemoryOf(block); }
  // Runs blocks of the grid; `run(first, count)` runs those that are not counted. False: no memory.
  template <typename RunPlain>
  bool RunSome(uint64_t first, uint64_t count, LandingPoint& landing, const RunPlain& run) {
    while (count != 0) {
      const uint64_t plain = std::min(Next(first) - first, count);
      if (plain != 0 && !run(first, plain)) return false;
      first += plain, count -= plain;
      if (count == 0) break;
      if (!Run(first, landing)) return false;
      ++first, --count;
    }
    return true;
  }
  void Finish(LandingPoint& landing) { blocks_.Finish(landing); }

 private:
  static constexpr uint64_t kPart = 8, kMaxCounted = 16;  // of so many blocks one, and at most so many
  // The first block from `first` on that is counted.
  uint64_t Next(uint64_t first) const {
    const uint64_t middle = stride_ / 2;
    return first <= middle ? middle : middle + (first - middle + stride_ - 1) / stride_ * stride_;
  }
  // Runs block number `index` of the grid. `landing` names it meanwhile. False: no memory.
  bool Run(uint64_t index, LandingPoint& landing);

  LaunchJob& job_;
  const ptx2cpu_kernel* code_;
  uint64_t stride_ = 1, nanoseconds_ = 0;
  BlocksOfCode blocks_;
};

}  // namespace ptx2cpu::rt
