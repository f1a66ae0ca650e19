#include "runtime/cuda/driver/memory/pool_blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace ptx2cpu::driver {

namespace {

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }
size_t PageSize() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Free blocks whose stream is not done yet are skipped, up to a limit.
constexpr int kMaxCandidates = 64;

bool Pending(rt::Ticket& ticket) {
  if (ticket.stream == nullptr) return false;
  if (!ticket.Done()) return true;
  ticket = {};
  return false;
}

}  // namespace

PoolBlocks::PoolBlocks(MemoryLimits& limits, size_t most, bool shared)
    : limits_(limits),
      most_(most),
      file_(shared ? Descriptor(memfd_create("ptx2cpu-pool", MFD_CLOEXEC)) : Descriptor()) {}

PoolBlocks::~PoolBlocks() {
  for (const auto& [base, chunk] : chunks_) UnmapChunk(chunk);
}

// Accessible memory before an inaccessible page; null: the system has none. Under the lock.
std::byte* PoolBlocks::MapChunk(size_t bytes) {
  void* const fresh =
      mmap(nullptr, bytes + PageSize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) return nullptr;
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  const bool usable = file_ ? ftruncate(file_.number(), static_cast<off_t>(file_bytes_ + bytes)) == 0 &&
                                  mmap(fresh, bytes, kAccess, MAP_SHARED | MAP_FIXED, file_.number(),
                                       static_cast<off_t>(file_bytes_)) != MAP_FAILED
                            : mprotect(fresh, bytes, kAccess) == 0;
  if (usable) return static_cast<std::byte*>(fresh);
  munmap(fresh, bytes + PageSize());
  return nullptr;
}

void PoolBlocks::UnmapChunk(const Chunk& chunk) {
  munmap(chunk.base, chunk.bytes + PageSize());
  if (file_) {  // a hole takes no memory
    fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(chunk.offset),
              static_cast<off_t>(chunk.bytes));
  }
  limits_.GiveBack(chunk.bytes);
}

size_t PoolBlocks::OffsetOf(const std::byte* byte) const {
  const std::lock_guard lock(mutex_);
  const auto& [base, chunk] = *std::prev(chunks_.upper_bound(const_cast<std::byte*>(byte)));
  return chunk.offset + static_cast<size_t>(byte - base);
}

PoolBlocks::Blocks::iterator PoolBlocks::FindFree(size_t bytes, const rt::Stream* stream, Reuse reuse,
                                                  rt::Ticket* wait) {
  auto waits = blocks_.end();
  int candidates = 0;
  for (auto it = free_.lower_bound({bytes, nullptr}); it != free_.end() && candidates < kMaxCandidates;
       ++it, ++candidates) {
    const auto block = blocks_.find(it->second);
    rt::Ticket& freed = block->second.freed;
    if (freed.stream == nullptr || freed.stream.get() == stream) return block;
    if (Pending(freed)) {
      if (waits == blocks_.end()) waits = block;
    } else if (reuse.completed) {
      return block;
    }
  }
  if (waits == blocks_.end() || !reuse.wait) return blocks_.end();
  *wait = waits->second.freed;
  return waits;
}

PoolBlocks::Blocks::iterator PoolBlocks::Grow(size_t bytes) {
  size_t wanted = bytes > kChunk ? RoundUp(bytes, kChunkGrain) : kChunk;
  if (most_ != 0 && sizes_.reserved + wanted > most_) wanted = RoundUp(bytes, kChunkGrain);
  if (most_ != 0 && sizes_.reserved + wanted > RoundUp(most_, kChunkGrain)) return blocks_.end();
  if (!limits_.Take(wanted)) {
    wanted = RoundUp(bytes, kChunkGrain);
    if (!limits_.Take(wanted)) return blocks_.end();
  }
  std::byte* const base = MapChunk(wanted);
  if (base == nullptr) {
    limits_.GiveBack(wanted);
    return blocks_.end();
  }
  chunks_[base] = {base, wanted, file_bytes_};
  if (file_) file_bytes_ += wanted;
  sizes_.reserved += wanted;
  sizes_.reserved_high = std::max(sizes_.reserved_high, sizes_.reserved);
  const auto block = blocks_.emplace(base, Block{wanted, 0, base, {}}).first;
  AddFree(block);
  return block;
}

// Takes a free block, leaves what it does not need.
std::byte* PoolBlocks::Use(Blocks::iterator block, size_t bytes, size_t asked) {
  RemoveFree(block);
  if (block->second.bytes > bytes) {
    const auto rest = blocks_.emplace(block->first + bytes, block->second).first;
    rest->second.bytes -= bytes;
    AddFree(rest);
  }
  block->second.bytes = bytes;
  block->second.asked = asked;
  block->second.freed = {};
  sizes_.used += asked;
  sizes_.used_high = std::max(sizes_.used_high, sizes_.used);
  return block->first;
}

std::byte* PoolBlocks::Allocate(size_t asked, const rt::Stream* stream, Reuse reuse, rt::Ticket* wait) {
  *wait = {};
  if (asked == 0 || asked > SIZE_MAX / 4) return nullptr;
  const size_t bytes = RoundUp(asked, kAlignment);
  const std::lock_guard lock(mutex_);
  // Growing beats waiting; waiting beats failing.
  auto block = FindFree(bytes, stream, {reuse.completed, false}, wait);
  if (block == blocks_.end()) {
    MergeDone();
    block = FindFree(bytes, stream, {reuse.completed, false}, wait);
  }
  if (block == blocks_.end()) block = Grow(bytes);
  if (block == blocks_.end()) block = FindFree(bytes, stream, reuse, wait);
  return block == blocks_.end() ? nullptr : Use(block, bytes, asked);
}

void PoolBlocks::AddFree(Blocks::iterator block) { free_.insert({block->second.bytes, block->first}); }

// Joins two free neighbours of a chunk if at most one stream must be waited for. Returns the joined block,
// or `right`.
PoolBlocks::Blocks::iterator PoolBlocks::Merge(Blocks::iterator left, Blocks::iterator right) {
  Block &l = left->second, &r = right->second;
  if (l.asked != 0 || r.asked != 0 || l.chunk != r.chunk) return right;
  const bool left_waits = Pending(l.freed), right_waits = Pending(r.freed);
  if (left_waits && right_waits && l.freed.stream != r.freed.stream) return right;
  RemoveFree(left);
  RemoveFree(right);
  if (right_waits && (!left_waits || r.freed.number > l.freed.number)) l.freed = r.freed;
  l.bytes += r.bytes;
  blocks_.erase(right);
  AddFree(left);
  return left;
}

void PoolBlocks::MergeDone() {
  if (blocks_.empty()) return;
  for (auto left = blocks_.begin(), right = std::next(left); right != blocks_.end(); right = std::next(left))
    left = Merge(left, right);
}

void PoolBlocks::Free(std::byte* memory, rt::Ticket freed) {
  const std::lock_guard lock(mutex_);
  auto block = blocks_.find(memory);
  if (block == blocks_.end() || block->second.asked == 0) return;
  sizes_.used -= block->second.asked;
  block->second.asked = 0;
  block->second.freed = std::move(freed);
  AddFree(block);
  if (block != blocks_.begin()) block = Merge(std::prev(block), block);
  if (const auto next = std::next(block); next != blocks_.end()) Merge(block, next);
}

void PoolBlocks::Trim(size_t keep) {
  const std::lock_guard lock(mutex_);
  MergeDone();
  for (auto it = chunks_.begin(); it != chunks_.end();) {
    const auto [base, chunk] = *it;
    const auto block = blocks_.find(base);
    const bool whole =
        block->second.asked == 0 && block->second.bytes == chunk.bytes && !Pending(block->second.freed);
    if (!whole || sizes_.reserved - chunk.bytes < keep) {
      ++it;
      continue;
    }
    RemoveFree(block);
    blocks_.erase(block);
    UnmapChunk(chunk);
    sizes_.reserved -= chunk.bytes;
    it = chunks_.erase(it);
  }
}

PoolBlocks::Sizes PoolBlocks::sizes() const {
  const std::lock_guard lock(mutex_);
  return sizes_;
}

void PoolBlocks::ResetReservedHigh() {
  const std::lock_guard lock(mutex_);
  sizes_.reserved_high = sizes_.reserved;
}

void PoolBlocks::ResetUsedHigh() {
  const std::lock_guard lock(mutex_);
  sizes_.used_high = sizes_.used;
}

}  // namespace ptx2cpu::driver
