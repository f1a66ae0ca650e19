// Which bytes of fresh memory something has written since. Fresh memory holds a word that a load recognises
// (memory.h), which suffices where whole words are written; of a word that was written in part these bits
// decide about the rest, and a byte that has a fresh one's value by chance is not reported.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "runtime/check/zero_array.h"

namespace ptx2cpu::rt::check {

// Of memory whose addresses begin at 0: a block's shared memory, its threads' local memory.
class WrittenWindow {
 public:
  // From now on none is written.
  void Reset(uint64_t bytes);
  bool empty() const { return bits_.empty(); }
  void Write(uint64_t from, uint64_t bytes);
  void Clear(uint64_t from, uint64_t bytes);
  // Bit i: byte from + i. At most 16.
  uint32_t Of(uint64_t from, uint32_t bytes) const;

 private:
  std::vector<uint64_t> bits_;
};

// Of real addresses. Several workers may write at once.
class WrittenMemory {
 public:
  static WrittenMemory& Get();
  // The memory is fresh: it is followed from now on, and nothing has written it.
  void Follow(uintptr_t from, size_t bytes);
  void Write(uintptr_t from, size_t bytes) { Change(from, bytes, true); }
  void Clear(uintptr_t from, size_t bytes) { Change(from, bytes, false); }
  bool IsFollowed(uintptr_t address) { return StretchOf(address / kStretchBytes) != nullptr; }
  // As of a window; none of memory that is not followed.
  uint32_t Of(uintptr_t from, uint32_t bytes);

 private:
  static constexpr size_t kStretchBytes = size_t{1} << 24;
  using Bits = ZeroArray<std::atomic<uint64_t>>;

  Bits* StretchOf(uintptr_t number);  // null: none of it is followed
  void Change(uintptr_t from, size_t bytes, bool written);

  std::shared_mutex mutex_;
  std::unordered_map<uintptr_t, std::unique_ptr<Bits>> stretches_;  // never removed
};

// The host copies, or fills (`from` is null), memory of the device: to be called before it does.
void NoteHostWrite(const void* to, const void* from, size_t bytes);

}  // namespace ptx2cpu::rt::check
