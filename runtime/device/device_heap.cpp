#include "runtime/device/device_heap.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "runtime/device/device_services.h"

namespace ptx2cpu::rt {

namespace {

constexpr uint64_t kMark = 0x70747832'68656170;
constexpr uint64_t kLeastAlign = 16, kMostAlign = uint64_t{1} << 20;

// A number for the calling thread, to spread threads over shards.
uint32_t ThreadNumber() {
  static std::atomic<uint32_t> next{0};
  static thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

DeviceServices& DefaultServices() {
  // Never destroyed: kernels may run until the process ends.
  static auto* services = new DeviceServices;
  return *services;
}

// Another heap's blocks are none of this one's.
uint64_t DeviceHeap::mark() const { return kMark ^ reinterpret_cast<uint64_t>(this); }

bool DeviceHeap::Take(uint64_t bytes, uint64_t limit) {
  uint64_t taken = bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit || taken > limit - bytes) return false;
  } while (!bytes_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  uint64_t most = most_bytes_.load(std::memory_order_relaxed);
  while (most < taken + bytes &&
         !most_bytes_.compare_exchange_weak(most, taken + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

void* DeviceHeap::Allocate(uint64_t bytes, uint64_t align, uint64_t limit) {
  was_used_.store(true, std::memory_order_relaxed);
  if (bytes == 0 || bytes > limit || align > kMostAlign || !std::has_single_bit(std::max<uint64_t>(align, 1)))
    return nullptr;
  align = std::max(align, kLeastAlign);
  const uint64_t counted = (bytes + kLeastAlign - 1) / kLeastAlign * kLeastAlign;
  if (!Take(counted, limit)) return nullptr;
  const uint64_t before = (sizeof(Head) + align - 1) / align * align;
  auto* memory =
      static_cast<std::byte*>(std::aligned_alloc(align, (before + counted + align - 1) / align * align));
  if (memory == nullptr) {
    bytes_.fetch_sub(counted, std::memory_order_relaxed);
    return nullptr;
  }
  auto* head = new (memory + before - sizeof(Head)) Head;
  head->memory = memory;
  head->bytes = counted;
  head->shard = ThreadNumber() % kShards;
  head->mark = mark();
  blocks_.fetch_add(1, std::memory_order_relaxed);
  Shard& shard = shards_[head->shard];
  std::lock_guard lock(shard.lock);
  head->next = shard.first;
  if (shard.first != nullptr) shard.first->before = head;
  shard.first = head;
  return head + 1;
}

bool DeviceHeap::Free(void* pointer) {
  if (pointer == nullptr) return true;
  if (reinterpret_cast<uintptr_t>(pointer) % kLeastAlign != 0) return false;
  auto* head = static_cast<Head*>(pointer) - 1;
  if (std::atomic_ref(head->mark).load(std::memory_order_relaxed) != mark() || head->shard >= kShards)
    return false;
  {
    Shard& shard = shards_[head->shard];
    std::lock_guard lock(shard.lock);
    // Of two that free the same block one finds no mark.
    if (std::atomic_ref(head->mark).exchange(0, std::memory_order_relaxed) != mark()) return false;
    (head->before == nullptr ? shard.first : head->before->next) = head->next;
    if (head->next != nullptr) head->next->before = head->before;
  }
  bytes_.fetch_sub(head->bytes, std::memory_order_relaxed);
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  std::free(head->memory);
  return true;
}

void DeviceHeap::Clear() {
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.lock);
    while (Head* head = shard.first) {
      shard.first = head->next;
      std::free(head->memory);
    }
  }
  bytes_ = 0, blocks_ = 0, most_bytes_ = 0, was_used_ = false;
}

}  // namespace ptx2cpu::rt
