#include "runtime/device/device_heap.h"

#include <algorithm>
#include <bit>

#include "runtime/device/device_services.h"
#include "runtime/device/heap_blocks.h"

namespace ptx2cpu::rt {

namespace {

uint64_t Counted(uint64_t bytes) { return (bytes + kMinAlign - 1) / kMinAlign * kMinAlign; }

}  // namespace

DeviceServices& DefaultServices() {
  // The heap is never destroyed: kernels may run until the process ends.
  static auto* services = new DeviceServices;
  return *services;
}

DeviceHeap::DeviceHeap() = default;
DeviceHeap::~DeviceHeap() = default;

DeviceHeap::Blocks* DeviceHeap::TheBlocks(uint64_t limit) {
  if (Blocks* blocks = made_.load(std::memory_order_acquire)) return blocks;
  std::lock_guard lock(begin_);
  if (owned_ == nullptr) owned_ = Blocks::Make(limit);
  made_.store(owned_.get(), std::memory_order_release);
  return owned_.get();
}

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

void* DeviceHeap::Allocate(uint64_t bytes, uint64_t align, uint64_t limit, uint64_t gap) {
  was_used_.store(true, std::memory_order_relaxed);
  if (bytes == 0 || bytes > limit || align > kMaxAlign || !std::has_single_bit(std::max<uint64_t>(align, 1)))
    return nullptr;
  const uint64_t counted = Counted(bytes);
  if (!Take(counted, limit)) return nullptr;
  Blocks* const blocks = TheBlocks(limit);
  void* const memory = blocks == nullptr ? nullptr : blocks->Allocate(bytes, std::max(align, kMinAlign), gap);
  if (memory == nullptr) {
    bytes_.fetch_sub(counted, std::memory_order_relaxed);
    return nullptr;
  }
  blocks_.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

bool DeviceHeap::Free(void* pointer, bool keep) {
  if (pointer == nullptr) return true;
  Blocks* const blocks = made_.load(std::memory_order_acquire);
  const auto bytes = blocks == nullptr ? std::nullopt : blocks->Free(pointer, keep);
  if (!bytes) return false;
  bytes_.fetch_sub(Counted(*bytes), std::memory_order_relaxed);
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

std::optional<DeviceHeap::Block> DeviceHeap::Find(const void* address) const {
  const Blocks* const blocks = made_.load(std::memory_order_acquire);
  return blocks == nullptr ? std::nullopt : blocks->Find(static_cast<const std::byte*>(address), false);
}

std::optional<DeviceHeap::Block> DeviceHeap::FindFreed(const void* address) const {
  const Blocks* const blocks = made_.load(std::memory_order_acquire);
  return blocks == nullptr ? std::nullopt : blocks->Find(static_cast<const std::byte*>(address), true);
}

std::optional<DeviceHeap::Block> DeviceHeap::FindNear(const void* address) const {
  const Blocks* const blocks = made_.load(std::memory_order_acquire);
  return blocks == nullptr ? std::nullopt : blocks->FindNear(static_cast<const std::byte*>(address));
}

std::vector<DeviceHeap::Block> DeviceHeap::BlocksInUse() const {
  const Blocks* const blocks = made_.load(std::memory_order_acquire);
  return blocks == nullptr ? std::vector<Block>() : blocks->InUse();
}

void DeviceHeap::Clear() {
  made_.store(nullptr, std::memory_order_release);
  owned_.reset();
  bytes_ = 0, blocks_ = 0, most_bytes_ = 0, was_used_ = false;
}

}  // namespace ptx2cpu::rt
