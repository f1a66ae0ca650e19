#include "runtime/device/heap_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace ptx2cpu::rt {

namespace {

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// The classes of sizes: multiples of 16 up to 128, then four classes for each power of two.
uint32_t ClassOf(uint64_t bytes) {
  if (bytes <= 128) return static_cast<uint32_t>((bytes + 15) / 16 - 1);
  const uint64_t last = bytes - 1;
  const auto log = static_cast<uint32_t>(std::bit_width(last)) - 1;  // 7 to 14
  return 8 + (log - 7) * 4 + static_cast<uint32_t>(last >> (log - 2) & 3);
}
uint64_t BytesOfClass(uint32_t size_class) {
  if (size_class < 8) return (size_class + 1) * 16;
  const uint32_t log = 7 + (size_class - 8) / 4;
  return (uint64_t{1} << log) + ((size_class - 8) % 4 + 1) * (uint64_t{1} << (log - 2));
}

// A number for the calling thread, to spread threads over shards.
uint32_t ThreadNumber() {
  static std::atomic<uint32_t> next{0};
  static thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

// Addresses without memory until they are written; null: the system has none.
std::byte* Reserve(uint64_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

std::unique_ptr<DeviceHeap::Blocks> DeviceHeap::Blocks::Make(uint64_t limit) {
  std::unique_ptr<Blocks> blocks(new Blocks);
  // Blocks are rounded up to classes and may have gaps of 16 bytes, and chunks are not full.
  for (const uint64_t bytes :
       {2 * limit + limit / 2 + kSlack, limit + limit / 2 + kSlack, limit + kSlack, limit + limit / 8}) {
    if (bytes < limit || bytes > UINT64_MAX / 4) continue;
    blocks->chunk_count_ = RoundUp(bytes, kChunkBytes) / kChunkBytes;
    // A chunk of guard at either end, and what aligning takes.
    blocks->mapped_ = (blocks->chunk_count_ + 3) * kChunkBytes + kMaxAlign;
    blocks->mapping_ = Reserve(blocks->mapped_);
    if (blocks->mapping_ != nullptr) break;
  }
  if (blocks->mapping_ == nullptr) return nullptr;
  blocks->chunks_ = reinterpret_cast<Chunk*>(Reserve(blocks->chunk_count_ * sizeof(Chunk)));
  if (blocks->chunks_ == nullptr) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(blocks->mapping_);
  const uint64_t before = RoundUp(begin + kChunkBytes, kMaxAlign) - begin;
  blocks->first_ = blocks->mapping_ + before;
  const uint64_t end = before + blocks->chunk_count_ * kChunkBytes;
  mprotect(blocks->mapping_, before, PROT_NONE);
  mprotect(blocks->mapping_ + end, blocks->mapped_ - end, PROT_NONE);
  blocks->spare_[0] = blocks->chunk_count_;
  return blocks;
}

DeviceHeap::Blocks::~Blocks() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
  if (chunks_ != nullptr) munmap(chunks_, chunk_count_ * sizeof(Chunk));
}

std::optional<uint64_t> DeviceHeap::Blocks::TakeChunks(uint64_t count, uint64_t step) {
  std::lock_guard lock(mutex_);
  for (auto run = spare_.begin(); run != spare_.end(); ++run) {
    const auto [first, length] = *run;
    const uint64_t place = RoundUp(first, step), skipped = place - first;
    if (length < skipped || length - skipped < count) continue;
    spare_.erase(run);
    if (skipped != 0) spare_[first] = skipped;
    if (const uint64_t left = length - skipped - count; left != 0) spare_[place + count] = left;
    return place;
  }
  return std::nullopt;
}

void DeviceHeap::Blocks::GiveChunks(uint64_t first, uint64_t count) {
  // What large blocks held is not kept.
  madvise(first_ + first * kChunkBytes, count * kChunkBytes, MADV_DONTNEED);
  std::lock_guard lock(mutex_);
  auto next = spare_.lower_bound(first);
  if (next != spare_.end() && next->first == first + count) {
    count += next->second;
    next = spare_.erase(next);
  }
  if (next != spare_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first) {
      before->second += count;
      return;
    }
  }
  spare_[first] = count;
}

// Freed blocks that are kept must not be what a program runs out of memory by.
std::optional<uint64_t> DeviceHeap::Blocks::TakeKeptChunks(uint64_t count, uint64_t step) {
  if (const auto first = TakeChunks(count, step)) return first;
  GiveKept(0);
  return TakeChunks(count, step);
}

void* DeviceHeap::Blocks::FromClass(uint32_t size_class, uint64_t bytes) {
  const uint32_t number = ThreadNumber() % kShards;
  const uint64_t step = BytesOfClass(size_class);
  Shard& shard = shards_[number];
  std::byte* memory = nullptr;
  {
    std::lock_guard lock(shard.lock);
    std::vector<std::byte*>& free = shard.free[size_class];
    if (free.empty()) {
      if (const auto first = TakeKeptChunks(1, 1)) {
        Chunk& chunk = chunks_[*first];
        chunk.shard = number;
        chunk.freed_bytes.store(0, std::memory_order_relaxed);
        chunk.class_plus_one.store(size_class + 1, std::memory_order_release);
        std::byte* const begin = first_ + *first * kChunkBytes;
        for (uint64_t at = kChunkBytes / step; at-- > 0;) free.push_back(begin + at * step);
      } else {
        free.assign(shard.kept[size_class].rbegin(), shard.kept[size_class].rend());
        shard.kept[size_class].clear();
        if (free.empty()) return nullptr;
      }
    }
    memory = free.back();
    free.pop_back();
  }
  const auto offset = static_cast<uint64_t>(memory - first_);
  Chunk& chunk = chunks_[offset / kChunkBytes];
  const uint64_t index = offset % kChunkBytes / step;
  chunk.unused[index] = static_cast<uint16_t>(step - bytes);
  chunk.freed[index / 64].fetch_and(~(uint64_t{1} << index % 64), std::memory_order_relaxed);
  chunk.used[index / 64].fetch_or(uint64_t{1} << index % 64, std::memory_order_release);
  return memory;
}

void* DeviceHeap::Blocks::FromChunks(uint64_t bytes, uint64_t align, uint64_t gap) {
  const uint64_t count = RoundUp(bytes + gap, kChunkBytes) / kChunkBytes;
  const uint64_t step = std::max<uint64_t>(1, align / kChunkBytes);
  const auto first = TakeKeptChunks(count, step);
  if (!first) return nullptr;
  for (uint64_t n = 0; n < count; ++n) chunks_[*first + n].freed_bytes.store(0, std::memory_order_relaxed);
  chunks_[*first].count = static_cast<uint32_t>(count);
  chunks_[*first].large_bytes.store(bytes, std::memory_order_release);
  return first_ + *first * kChunkBytes;
}

void* DeviceHeap::Blocks::Allocate(uint64_t bytes, uint64_t align, uint64_t gap) {
  // A chunk begins at a multiple of its size, and so do the blocks of a class that is a power of two.
  const uint64_t wanted = align > kMinAlign ? std::bit_ceil(std::max(bytes + gap, align)) : bytes + gap;
  try {
    void* const memory =
        wanted <= kMaxShared ? FromClass(ClassOf(wanted), bytes) : FromChunks(bytes, align, gap);
    if (memory != nullptr || gap == 0) return memory;
    return Allocate(bytes, align, 0);
  } catch (const std::bad_alloc&) {  // generated code cannot be unwound
    return nullptr;
  }
}

void DeviceHeap::Blocks::GiveKept(size_t most) {
  std::vector<uint64_t> given;
  {
    std::lock_guard lock(mutex_);
    for (; kept_.size() > most; kept_.pop_front()) given.push_back(kept_.front());
  }
  for (const uint64_t number : given) {
    chunks_[number].freed_bytes.store(0, std::memory_order_relaxed);
    GiveChunks(number, chunks_[number].count);
  }
}

std::optional<uint64_t> DeviceHeap::Blocks::Free(void* pointer, bool keep) {
  auto* const memory = static_cast<std::byte*>(pointer);
  const uint64_t offset = reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(first_);
  if (memory < first_ || offset >= chunk_count_ * kChunkBytes) return std::nullopt;
  const uint64_t number = offset / kChunkBytes, within = offset % kChunkBytes;
  Chunk& chunk = chunks_[number];
  if (const uint32_t shared = chunk.class_plus_one.load(std::memory_order_acquire); shared != 0) {
    const uint64_t step = BytesOfClass(shared - 1), index = within / step;
    if (within % step != 0) return std::nullopt;
    const uint64_t unused = chunk.unused[index], bit = uint64_t{1} << index % 64;
    // If two threads free the same block, one of them finds that it is free.
    if ((chunk.used[index / 64].fetch_and(~bit, std::memory_order_acq_rel) & bit) == 0) return std::nullopt;
    chunk.freed[index / 64].fetch_or(bit, std::memory_order_relaxed);
    Shard& shard = shards_[chunk.shard];
    std::lock_guard lock(shard.lock);
    std::deque<std::byte*>& kept = shard.kept[shared - 1];
    if (keep) kept.push_back(memory);
    if (!keep || kept.size() > kMaxKept) {
      shard.free[shared - 1].push_back(keep ? kept.front() : memory);
      if (keep) kept.pop_front();
    }
    return step - unused;
  }
  if (within != 0) return std::nullopt;
  const uint32_t count = chunk.count;
  const uint64_t bytes = chunk.large_bytes.exchange(0, std::memory_order_acq_rel);
  if (bytes == 0) return std::nullopt;
  if (!keep) return GiveChunks(number, count), bytes;
  chunk.freed_bytes.store(bytes, std::memory_order_release);
  {
    std::lock_guard lock(mutex_);
    kept_.push_back(number);
  }
  GiveKept(kMaxKept);
  return bytes;
}

std::optional<DeviceHeap::Block> DeviceHeap::Blocks::Find(const std::byte* address, bool freed) const {
  const uint64_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(first_);
  if (address < first_ || offset >= chunk_count_ * kChunkBytes) return std::nullopt;
  uint64_t number = offset / kChunkBytes;
  const Chunk& chunk = chunks_[number];
  if (const uint32_t shared = chunk.class_plus_one.load(std::memory_order_acquire); shared != 0) {
    const uint64_t step = BytesOfClass(shared - 1), index = offset % kChunkBytes / step;
    if (index >= kChunkBytes / step) return std::nullopt;
    const std::atomic<uint64_t>* const blocks = freed ? chunk.freed : chunk.used;
    if ((blocks[index / 64].load(std::memory_order_acquire) >> index % 64 & 1) == 0) return std::nullopt;
    const uint64_t bytes = step - chunk.unused[index];
    if (offset % kChunkBytes - index * step >= bytes) return std::nullopt;
    return Block{first_ + number * kChunkBytes + index * step, bytes};
  }
  const auto bytes_of = [&](uint64_t n) {
    return (freed ? chunks_[n].freed_bytes : chunks_[n].large_bytes).load(std::memory_order_acquire);
  };
  while (number != 0 && bytes_of(number) == 0) --number;
  if (offset - number * kChunkBytes >= bytes_of(number)) return std::nullopt;
  return Block{first_ + number * kChunkBytes, bytes_of(number)};
}

// Blocks of the address's chunk and its neighbours, and a large one that reaches into them.
std::optional<DeviceHeap::Block> DeviceHeap::Blocks::FindNear(const std::byte* address) const {
  const uint64_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(first_);
  if (address < first_ || offset >= chunk_count_ * kChunkBytes) return std::nullopt;
  std::optional<Block> nearest;
  uint64_t distance = kChunkBytes;
  const auto consider = [&](const std::optional<Block>& block) {
    if (!block) return;
    const std::byte* const end = block->base + block->bytes;
    const auto away = static_cast<uint64_t>(address < block->base ? block->base - address
                                            : address < end       ? 0  // an access across its end
                                                                  : address - end);
    if (away < distance) nearest = block, distance = away;
  };
  const uint64_t number = offset / kChunkBytes;
  for (uint64_t n = number == 0 ? 0 : number - 1; n <= number + 1 && n < chunk_count_; ++n) {
    const uint32_t shared = chunks_[n].class_plus_one.load(std::memory_order_acquire);
    const uint64_t step = shared != 0 ? BytesOfClass(shared - 1) : kChunkBytes;
    if (shared == 0) {
      uint64_t head = n;
      while (head != 0 && chunks_[head].large_bytes.load(std::memory_order_acquire) == 0) --head;
      consider(Find(first_ + head * kChunkBytes, false));
    }
    for (uint64_t at = 0; shared != 0 && at + step <= kChunkBytes; at += step)
      consider(Find(first_ + n * kChunkBytes + at, false));
  }
  return nearest;
}

std::vector<DeviceHeap::Block> DeviceHeap::Blocks::InUse() const {
  std::vector<Block> blocks;
  for (uint64_t number = 0; number < chunk_count_; ++number) {
    const Chunk& chunk = chunks_[number];
    std::byte* const begin = first_ + number * kChunkBytes;
    if (const uint32_t shared = chunk.class_plus_one.load(std::memory_order_acquire); shared != 0) {
      for (uint64_t at = 0, step = BytesOfClass(shared - 1); at + step <= kChunkBytes; at += step) {
        if (const auto block = Find(begin + at, false)) blocks.push_back(*block);
      }
    } else if (const uint64_t bytes = chunk.large_bytes.load(std::memory_order_acquire); bytes != 0) {
      blocks.push_back({begin, bytes});
    }
  }
  return blocks;
}

}  // namespace ptx2cpu::rt
