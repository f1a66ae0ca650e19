#include "runtime/check/copies.h"

#include <algorithm>
#include <utility>

#include "runtime/abi/check.h"

namespace ptx2cpu::rt::check {

bool Copies::Copy::IsSeenBy(uint32_t thread) const {
  if (is_seen && first.thread == thread) return true;
  const auto at = std::ranges::lower_bound(others, thread, {}, &Seen::thread);
  return at != others.end() && at->thread == thread;
}

void Copies::Forget(uint32_t barrier) {
  std::erase_if(pending_, [&](uint32_t copy) { return first_epochs_[copy] < barrier; });
}

// Blocks of a launch mostly make the same copies, so what threads have allocated stays.
void Copies::Begin() {
  copies_.clear();
  first_epochs_.clear();
  pending_.clear();
  for (const uint32_t thread : used_) {
    Thread& of = threads_[thread];
    of.open[0] = of.open[1] = {};
    for (auto& groups : of.groups) groups.clear();
    of.carried = {};
    of.is_used = false;
  }
  used_.clear();
}

Copies::Thread& Copies::Of(uint32_t thread) {
  if (thread >= threads_.size()) threads_.resize(thread + 1);
  Thread& of = threads_[thread];
  if (!of.is_used) used_.push_back(thread);
  of.is_used = true;
  return of;
}

uint32_t Copies::Issue(uint32_t thread, uint32_t kind, bool writes) {
  Group& open = Of(thread).open[kind];
  const bool only_reads = kind == PTX2CPU_COPY_BULK && !writes;
  for (const uint32_t copy : open.all()) {
    if (copies_[copy].only_reads == only_reads) return copy;
  }
  const auto copy = static_cast<uint32_t>(copies_.size());
  copies_.emplace_back().only_reads = only_reads;
  first_epochs_.push_back(~0u);
  pending_.push_back(copy);
  open.copies[open.count++] = copy;
  return copy;
}

void Copies::Commit(uint32_t thread, uint32_t kind) {
  Thread& me = Of(thread);
  me.groups[kind].push_back(std::exchange(me.open[kind], {}));
}

std::span<const uint32_t> Copies::Wait(uint32_t thread, uint32_t kind, uint32_t groups) {
  const bool only_reads = (kind & PTX2CPU_COPY_ONLY_READS) != 0;
  std::vector<Group>& of = Of(thread).groups[kind & 1];
  if (groups == PTX2CPU_SYNC_ALL_COPIES) {
    Commit(thread, kind & 1);
    groups = 0;
  }
  done_.clear();
  const size_t count = of.size() > groups ? of.size() - groups : 0;
  for (size_t i = 0; i < count; ++i) {
    for (const uint32_t copy : of[i].all()) {
      if (!only_reads || copies_[copy].only_reads) done_.push_back(copy);
    }
  }
  if (!only_reads) of.erase(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(count));
  return done_;
}

// The end of a thread's own copies is counted for all that it has not waited for, that of a bulk copy for it
// alone.
void Copies::Carry(uint32_t thread, uint32_t kind) {
  Thread& me = Of(thread);
  const auto open = me.open[kind].all();
  me.carried = {{open.begin(), open.end()}, kind == PTX2CPU_COPY_BULK};
  if (kind == PTX2CPU_COPY_BULK) {
    me.open[kind] = {};
    return;
  }
  for (const Group& group : me.groups[kind])
    me.carried.copies.insert(me.carried.copies.end(), group.all().begin(), group.all().end());
}

Copies::Carried Copies::TakeCarried(uint32_t thread) {
  return thread < threads_.size() ? std::exchange(threads_[thread].carried, {}) : Carried();
}

void Copies::See(uint32_t copy, uint32_t thread, uint32_t epoch, uint32_t time) {
  Copy& of = copies_[copy];
  if (of.IsSeenBy(thread)) return;
  if (!of.is_seen)
    of.first = {thread, time};
  else
    of.others.insert(std::ranges::lower_bound(of.others, thread, {}, &Seen::thread), {thread, time});
  of.is_seen = true;
  first_epochs_[copy] = std::min(first_epochs_[copy], epoch);
}

}  // namespace ptx2cpu::rt::check
