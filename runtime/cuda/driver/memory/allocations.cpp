#include "runtime/cuda/driver/memory/allocations.h"

#include <cinttypes>
#include <cstdio>
#include <mutex>

namespace ptx2cpu::driver {

namespace {
// The ranges and gaps that this thread found last. They are valid while the table has the version at which
// they were found. There are two entries, since a copy has two ends.
struct Recent {
  const Allocations* table = nullptr;
  uint64_t version = 0;
  uintptr_t begin = 0, end = 0;
  std::optional<Range> range;
};
struct RecentFinds {
  Recent entries[2];
  unsigned next = 0;
};
thread_local RecentFinds recent;
}  // namespace

Allocations& Allocations::Get() {
  static auto* table = new Allocations;  // outlives every static object: programs free memory in destructors
  return *table;
}

uint64_t Allocations::FirstVersion() {
  static std::atomic<uint64_t> tables{0};
  return (tables.fetch_add(1) << 40) + 1;
}

std::map<uintptr_t, Range>::const_iterator Allocations::Locate(uintptr_t address) const {
  auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return ranges_.end();
  --next;
  return address - next->first < next->second.size ? next : ranges_.end();
}

bool Allocations::Overlaps(uintptr_t address, size_t bytes) const {
  if (Locate(address) != ranges_.end()) return true;
  const auto next = ranges_.lower_bound(address);
  return next != ranges_.end() && next->first - address < bytes;
}

bool Allocations::Insert(Range range) {
  const std::unique_lock lock(mutex_);
  if (range.size == 0 || Overlaps(range.base, range.size)) return false;
  range.buffer_id = next_buffer_id_++;
  ranges_.emplace(range.base, range);
  version_.fetch_add(1, std::memory_order_release);
  return true;
}

Allocations::Found Allocations::Look(uintptr_t address) const {
  for (const Recent& last : recent.entries) {
    if (last.table == this && last.version == version_.load(std::memory_order_acquire) &&
        address >= last.begin && address < last.end) {
      return {last.range, last.end};
    }
  }
  const std::shared_lock lock(mutex_);
  Recent& fresh = recent.entries[recent.next++ % 2];
  const auto next = ranges_.upper_bound(address);
  const auto found = Locate(address);
  fresh = {this, version_.load(std::memory_order_relaxed), 0,
           next == ranges_.end() ? UINTPTR_MAX : next->first, std::nullopt};
  if (found != ranges_.end()) {
    fresh.range = found->second;
    fresh.begin = found->first;
    fresh.end = found->first + found->second.size;
  } else if (next != ranges_.begin()) {
    const auto& before = std::prev(next)->second;
    fresh.begin = before.base + before.size;
  }
  return {fresh.range, fresh.end};
}

std::optional<Range> Allocations::Find(uintptr_t address) const { return Look(address).range; }

std::string Allocations::Near(uintptr_t address) const {
  constexpr uintptr_t kFar = uintptr_t{1} << 30;
  const std::shared_lock lock(mutex_);
  if (Locate(address) != ranges_.end()) return {};
  const Range* nearest = nullptr;
  uintptr_t distance = kFar;
  bool is_after = false;
  const auto next = ranges_.upper_bound(address);
  if (next != ranges_.end() && next->first - address < distance) {
    nearest = &next->second;
    distance = next->first - address;
  }
  if (next != ranges_.begin()) {
    const Range& before = std::prev(next)->second;
    const uintptr_t past = address - (before.base + before.size);  // 0: the first byte after it
    if (past < distance) nearest = &before, distance = past, is_after = true;
  }
  if (nearest == nullptr) return {};
  char text[128];
  std::snprintf(text, sizeof text, "%" PRIuPTR " bytes %s allocation 0x%" PRIxPTR " of %zu bytes", distance,
                is_after ? "after" : "before", nearest->base, nearest->size);
  return text;
}

std::optional<Range> Allocations::Remove(uintptr_t base, const std::function<bool(const Range&)>& accept) {
  const std::unique_lock lock(mutex_);
  const auto found = ranges_.find(base);
  if (found == ranges_.end() || !accept(found->second)) return std::nullopt;
  const Range range = found->second;
  ranges_.erase(found);
  version_.fetch_add(1, std::memory_order_release);
  return range;
}

bool Allocations::Update(uintptr_t address, const std::function<void(Range&)>& change) {
  const std::unique_lock lock(mutex_);
  const auto found = Locate(address);
  if (found == ranges_.end()) return false;
  Range& range = ranges_.at(found->first);
  const Range before = range;
  change(range);
  range.base = before.base, range.size = before.size, range.buffer_id = before.buffer_id;
  version_.fetch_add(1, std::memory_order_release);
  return true;
}

std::vector<Range> Allocations::RemoveAll(const std::function<bool(const Range&)>& accept) {
  std::vector<Range> gone;
  const std::unique_lock lock(mutex_);
  for (auto it = ranges_.begin(); it != ranges_.end();) {
    if (accept(it->second)) {
      gone.push_back(it->second);
      it = ranges_.erase(it);
    } else {
      ++it;
    }
  }
  if (!gone.empty()) version_.fetch_add(1, std::memory_order_release);
  return gone;
}

std::vector<Range> Allocations::All() const {
  const std::shared_lock lock(mutex_);
  std::vector<Range> all;
  for (const auto& [base, range] : ranges_) all.push_back(range);
  return all;
}

size_t Allocations::count() const {
  const std::shared_lock lock(mutex_);
  return ranges_.size();
}

}  // namespace ptx2cpu::driver
