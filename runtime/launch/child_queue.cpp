#include "runtime/launch/child_queue.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace ptx2cpu::rt {

namespace {

constexpr size_t kParameterAlign = 64;

}  // namespace

std::byte* ChildQueue::Prepare(std::unique_ptr<ChildLaunch> launch, size_t parameter_bytes) {
  launch->memory = std::make_unique<std::byte[]>(parameter_bytes + kParameterAlign);
  const auto address = reinterpret_cast<uintptr_t>(launch->memory.get());
  std::byte* buffer = launch->memory.get() + (kParameterAlign - address % kParameterAlign);
  launch->parameters = buffer;
  launch->parameter_bytes = parameter_bytes;
  std::lock_guard lock(lock_);
  prepared_.push_back(std::move(launch));
  return buffer;
}

std::unique_ptr<ChildLaunch> ChildQueue::TakePrepared(const void* buffer) {
  std::lock_guard lock(lock_);
  // It is nearly always the last one prepared.
  for (size_t i = prepared_.size(); i-- > 0;) {
    if (prepared_[i]->parameters != buffer) continue;
    std::unique_ptr<ChildLaunch> launch = std::move(prepared_[i]);
    prepared_.erase(prepared_.begin() + static_cast<ptrdiff_t>(i));
    return launch;
  }
  return nullptr;
}

bool ChildQueue::Holds(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(lock_);
  return std::ranges::any_of(prepared_, [&](const std::unique_ptr<ChildLaunch>& launch) {
    const uint64_t offset = address - reinterpret_cast<uint64_t>(launch->parameters);
    return offset < launch->parameter_bytes && bytes <= launch->parameter_bytes - offset;
  });
}

void ChildQueue::Add(ChildOperation operation) {
  std::lock_guard lock(lock_);
  operations_.push_back(std::move(operation));
  added_.store(operations_.size(), std::memory_order_release);
}

std::vector<ChildOperation> ChildQueue::TakeOf(uint64_t block) {
  std::lock_guard lock(lock_);
  const auto others = std::ranges::stable_partition(
      operations_, [&](const ChildOperation& o) { return o.block != block || o.tail; });
  std::vector<ChildOperation> taken(std::make_move_iterator(others.begin()),
                                    std::make_move_iterator(others.end()));
  operations_.erase(others.begin(), others.end());
  added_.store(operations_.size(), std::memory_order_release);
  return taken;
}

std::vector<ChildOperation> ChildQueue::TakeAll() {
  std::lock_guard lock(lock_);
  added_.store(0, std::memory_order_release);
  prepared_.clear();
  std::vector<ChildOperation> taken = std::exchange(operations_, {});
  std::ranges::stable_sort(taken, {}, [](const ChildOperation& o) { return std::pair(o.tail, o.block); });
  return taken;
}

}  // namespace ptx2cpu::rt
