#include "runtime/cuda/driver/memory/memory_heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <string_view>

namespace ptx2cpu::driver {

namespace {

constexpr size_t kSlabBytes = 1 << 20;
constexpr size_t kHugePage = 2 << 20;
// The granule that an H100 maps at once. As measured in a fresh process, blocks of 1 byte to 4 MiB could be
// read and written from 2 MiB before them; after them to the end of the granule, and for 2 MiB after blocks
// of up to a granule, which memory of the context follows.
constexpr size_t kGranule = 2 << 20;
constexpr size_t kBefore = kGranule, kSlabMapping = kBefore + 2 * kGranule;

size_t PageSize() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}
size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

// `bytes` (a multiple of the page size) of accessible memory before an inaccessible page. Null: the system
// has none.
std::byte* MapBeforeGuard(size_t bytes, bool huge_pages) {
  void* fresh =
      mmap(nullptr, bytes + PageSize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fresh == MAP_FAILED) return nullptr;
  if (mprotect(fresh, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(fresh, bytes + PageSize());
    return nullptr;
  }
#ifdef MADV_HUGEPAGE
  if (huge_pages) madvise(fresh, bytes, MADV_HUGEPAGE);  // refused: only slower
#endif
  return static_cast<std::byte*>(fresh);
}

// The page after it exists too, so that both kinds are freed alike.
std::byte* MapUnguarded(size_t bytes) {
  void* fresh = mmap(nullptr, bytes + PageSize(), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return fresh == MAP_FAILED ? nullptr : static_cast<std::byte*>(fresh);
}

}  // namespace

MemoryHeap& MemoryHeap::Get() {
  static auto* heap = new MemoryHeap(MemoryLimits::Get());  // outlives static objects that free memory
  return *heap;
}

MemoryHeap::~MemoryHeap() {
  DropKept(0);
  const size_t before = bounds_ == Bounds::kStrict ? 0 : kBefore;
  const size_t mapped = bounds_ == Bounds::kStrict ? kSlabBytes : kSlabMapping;
  for (const std::byte* slab : slabs_) munmap(const_cast<std::byte*>(slab) - before, mapped + PageSize());
}

MemoryHeap::Bounds MemoryHeap::BoundsWanted() {
  const char* text = std::getenv("PTX2CPU_CHECK_BOUNDS");
  return text != nullptr && std::string_view(text) == "1" ? Bounds::kStrict : Bounds::kGranule;
}

MemoryHeap::Place MemoryHeap::PlaceOf(size_t bytes, size_t alignment) const {
  const size_t used = RoundUp(bytes, alignment), pages = RoundUp(used, PageSize());
  if (bounds_ == Bounds::kStrict) return {pages, pages - used};
  const size_t after = bytes <= kGranule ? kGranule : 0;
  return {kBefore + RoundUp(pages + after + 1, kGranule), kBefore};
}

// Multiples of 512 up to 8 KiB, then four classes for each power of two.
size_t MemoryHeap::ClassOf(size_t bytes) {
  if (bytes <= 8192) return (bytes + 511) / 512 - 1;
  const size_t last = bytes - 1;
  const auto log = static_cast<size_t>(std::bit_width(last)) - 1;  // 13, 14 or 15
  return 16 + (log - 13) * 4 + ((last >> (log - 2)) & 3);
}

size_t MemoryHeap::BytesOfClass(size_t size_class) {
  if (size_class < 16) return (size_class + 1) * 512;
  const size_t log = 13 + (size_class - 16) / 4;
  return (size_t{1} << log) + ((size_class - 16) % 4 + 1) * (size_t{1} << (log - 2));
}

void* MemoryHeap::FromSlab(size_t bytes) {
  const size_t size_class = ClassOf(bytes);
  const size_t step = BytesOfClass(size_class);
  const std::lock_guard lock(mutex_);
  std::vector<void*>& free = free_[size_class];
  if (free.empty()) {
    std::byte* slab = MapBeforeGuard(bounds_ == Bounds::kStrict ? kSlabBytes : kSlabMapping, false);
    if (slab == nullptr) return nullptr;
    if (bounds_ != Bounds::kStrict) slab += kBefore;
    slabs_.insert(slab);
    // The last piece ends where the slab ends; the first is handed out first.
    for (std::byte* piece = slab + kSlabBytes - step; piece >= slab; piece -= step) free.push_back(piece);
  }
  void* memory = free.back();
  free.pop_back();
  return memory;
}

void* MemoryHeap::TakeKept(size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(bytes);
  if (found == kept_.end()) return nullptr;
  void* mapping = found->second;
  kept_.erase(found);
  kept_bytes_ -= bytes;
  return mapping;
}

void MemoryHeap::Unmap(void* mapping, size_t bytes) {
  munmap(mapping, bytes + PageSize());
  mappings_.fetch_sub(1, std::memory_order_relaxed);
}

// Under the lock, or from the destructor.
void MemoryHeap::DropKept(size_t until) {
  while (kept_bytes_ > until && !kept_.empty()) {
    const auto largest = std::prev(kept_.end());
    Unmap(largest->second, largest->first);
    kept_bytes_ -= largest->first;
    kept_.erase(largest);
  }
}

bool MemoryHeap::Shares(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto* byte = static_cast<const std::byte*>(address);
  const auto next = slabs_.upper_bound(byte);
  return next != slabs_.begin() && byte < *std::prev(next) + kSlabBytes;
}

MemoryHeap::Pages MemoryHeap::PagesOf(void* memory, size_t bytes) {
  auto* const byte = static_cast<std::byte*>(memory);
  if (Shares(memory)) {
    const std::lock_guard lock(mutex_);
    return {const_cast<std::byte*>(*std::prev(slabs_.upper_bound(byte))), kSlabBytes, true};
  }
  const size_t before = reinterpret_cast<uintptr_t>(memory) % PageSize();
  return {byte - before, RoundUp(before + bytes, PageSize()), false};
}

void MemoryHeap::Trim() {
  const std::lock_guard lock(mutex_);
  DropKept(0);
}

void* MemoryHeap::OwnMapping(size_t bytes, size_t alignment) {
  const auto [mapped, before] = PlaceOf(bytes, alignment);
  auto* mapping = static_cast<std::byte*>(TakeKept(mapped));
  if (mapping != nullptr && mprotect(mapping, mapped, PROT_READ | PROT_WRITE) != 0) {
    Unmap(mapping, mapped);
    mapping = nullptr;
  }
  const auto map = [&, mapped = mapped] {
    return mappings_.load(std::memory_order_relaxed) < kMaxGuarded
               ? MapBeforeGuard(mapped, bytes >= 2 * kHugePage)
               : MapUnguarded(mapped);
  };
  if (mapping == nullptr) {
    mapping = map();
    if (mapping == nullptr) Trim(), mapping = map();
    if (mapping == nullptr) return nullptr;
    mappings_.fetch_add(1, std::memory_order_relaxed);
  }
  return mapping + before;
}

void* MemoryHeap::Allocate(size_t bytes, size_t alignment) {
  if (bytes == 0 || bytes > SIZE_MAX / 2 || !limits_.Take(bytes)) return nullptr;
  const bool shares = bytes < kOwnMapping && alignment <= kAlignment;
  void* memory = shares ? FromSlab(bytes) : OwnMapping(bytes, alignment);
  if (memory == nullptr) limits_.GiveBack(bytes);
  return memory;
}

void MemoryHeap::Free(void* memory, size_t bytes, size_t alignment) {
  if (memory == nullptr) return;
  limits_.GiveBack(bytes);
  if (bytes < kOwnMapping && alignment <= kAlignment) {
    const std::lock_guard lock(mutex_);
    free_[ClassOf(bytes)].push_back(memory);
    return;
  }
  const auto [mapped, before] = PlaceOf(bytes, alignment);
  std::byte* mapping = static_cast<std::byte*>(memory) - before;
  const bool few = mappings_.load(std::memory_order_relaxed) < kMaxGuarded;
  if (!few || mapped > kMaxKept / 4 || mprotect(mapping, mapped, PROT_NONE) != 0)
    return Unmap(mapping, mapped);
  const std::lock_guard lock(mutex_);
  kept_.emplace(mapped, mapping);
  kept_bytes_ += mapped;
  if (kept_bytes_ > kMaxKept) DropKept(kMaxKept * 3 / 4);
}

}  // namespace ptx2cpu::driver
