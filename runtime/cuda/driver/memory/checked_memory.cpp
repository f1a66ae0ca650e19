#include "runtime/cuda/driver/memory/checked_memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "runtime/abi/check.h"
#include "runtime/check/finding.h"
#include "runtime/check/wanted.h"
#include "runtime/cuda/driver/core/program_call.h"
#include "runtime/cuda/driver/memory/memory.h"

namespace ptx2cpu::driver {

namespace {

void AddFinding(rt::check::Error error, std::string text, std::string caller) {
  rt::check::Finding finding;
  finding.error = error;
  finding.text = std::move(text);
  finding.caller = std::move(caller);
  rt::check::Findings::Get().Add(std::move(finding));
}

bool IsOfProgram(const Range& range) { return FromHeap(range) || range.kind == RangeKind::kPool; }

}  // namespace

CheckedMemory& CheckedMemory::Get() {
  static CheckedMemory* const memory = [] {
    const bool finds_leaks = (rt::check::WantedKinds() & PTX2CPU_CHECKS_LEAK) != 0;
    auto* made =
        new CheckedMemory((rt::check::WantedKinds() & PTX2CPU_CHECKS_MEMORY) != 0, finds_leaks);  // for good
    if (finds_leaks)
      rt::check::Findings::Get().BeforeFinish([made] { made->ReportLeaks(Allocations::Get().All()); });
    return made;
  }();
  return *memory;
}

void CheckedMemory::Made(const Range& range) {
  if (!finds_leaks_) return;
  std::string maker = ProgramCall();
  const std::lock_guard lock(mutex_);
  makers_[range.base] = std::move(maker);
}

void CheckedMemory::HasRows(uintptr_t base, size_t pitch, size_t width) {
  if (!keeps_freed_) return;
  const std::lock_guard lock(mutex_);
  rows_[base] = {pitch, width};
}

CheckedMemory::Rows CheckedMemory::RowsOf(uintptr_t base) const {
  const std::lock_guard lock(mutex_);
  const auto known = rows_.find(base);
  return known == rows_.end() ? Rows() : known->second;
}

std::vector<Range> CheckedMemory::Freed(const Range& range) {
  const std::lock_guard lock(mutex_);
  makers_.erase(range.base);
  rows_.erase(range.base);
  if (!keeps_freed_) return {range};
  std::vector<Range> released;
  kept_.push_back(range);
  kept_bytes_ += range.size;
  while (kept_bytes_ > kMaxKept || kept_.size() > kMaxKnown) {
    released.push_back(kept_.front());
    kept_bytes_ -= kept_.front().size;
    kept_.pop_front();
  }
  return released;
}

std::vector<Range> CheckedMemory::DropKept() {
  const std::lock_guard lock(mutex_);
  std::vector<Range> released(kept_.begin(), kept_.end());
  kept_.clear();
  kept_bytes_ = 0;
  return released;
}

void CheckedMemory::FreedToPool(const Range& range) {
  const std::lock_guard lock(mutex_);
  makers_.erase(range.base);
  if (!keeps_freed_) return;
  pooled_.push_back(range);
  if (pooled_.size() > kMaxKnown) pooled_.pop_front();
}

void CheckedMemory::FreedInStream(const Range& range, rt::Ticket when) {
  if (!keeps_freed_) return;
  const std::lock_guard lock(mutex_);
  DropLeft();
  leaving_.push_back({range, std::move(when)});
  leaving_count_ = leaving_.size();
}

void CheckedMemory::DropLeft() {
  if (std::erase_if(leaving_, [](const Leaving& each) { return each.when.Done(); }) == 0) return;
  leaving_count_ = leaving_.size();
  ++leaving_version_;
}

std::optional<Range> CheckedMemory::FindLeaving(uintptr_t address) {
  if (leaving_count_ == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  DropLeft();
  const auto found =
      std::ranges::find_if(leaving_, [&](const Leaving& each) { return each.range.Holds(address, 1); });
  return found == leaving_.end() ? std::nullopt : std::optional(found->range);
}

uint64_t CheckedMemory::LeavingVersion() {
  if (leaving_count_ != 0) {
    const std::lock_guard lock(mutex_);
    DropLeft();
  }
  return leaving_version_;
}

// The latest range that had the address: memory of pools is allocated and freed many times.
const Range* CheckedMemory::Find(uintptr_t address) const {
  for (const std::deque<Range>* gone : {&kept_, &pooled_}) {
    const auto found = std::find_if(gone->rbegin(), gone->rend(),
                                    [&](const Range& range) { return range.Holds(address, 1); });
    if (found != gone->rend()) return &*found;
  }
  return nullptr;
}

std::string CheckedMemory::Describe(uintptr_t address) const {
  const std::lock_guard lock(mutex_);
  const Range* gone = Find(address);
  if (gone == nullptr) return {};
  char text[128];
  std::snprintf(text, sizeof text,
                "%" PRIuPTR " bytes into %zu bytes at 0x%" PRIxPTR ", which have been freed",
                address - gone->base, gone->size, gone->base);
  return text;
}

void CheckedMemory::ReportBadFree(const char* function, uintptr_t address) const {
  if (!keeps_freed_) return;
  const auto range = Allocations::Get().Find(address);
  bool is_second = false;
  if (!range) {
    const std::lock_guard lock(mutex_);
    const Range* gone = Find(address);
    is_second = gone != nullptr && gone->base == address;
  }
  const bool is_inside = range && range->base != address;
  char text[160];
  std::snprintf(text, sizeof text, "%s of 0x%" PRIxPTR ", which %s", function, address,
                is_second   ? "has been freed before"
                : is_inside ? "is inside an allocation, not its beginning"
                : range     ? "is an allocation that another function frees"
                            : "is no allocation");
  AddFinding(rt::check::Error::kBadFree, text, ProgramCall());
}

void CheckedMemory::ReportLeaks(const std::vector<Range>& ranges) {
  if (!finds_leaks_) return;
  for (const Range& range : ranges) {
    if (!IsOfProgram(range)) continue;
    std::string maker;
    {
      const std::lock_guard lock(mutex_);
      const auto known = makers_.find(range.base);
      if (known == makers_.end()) continue;
      maker = known->second;
      makers_.erase(known);
    }
    char text[96];
    std::snprintf(text, sizeof text, "%zu bytes at 0x%" PRIxPTR " have not been freed", range.size,
                  range.base);
    AddFinding(rt::check::Error::kLeak, text, std::move(maker));
  }
}

}  // namespace ptx2cpu::driver
