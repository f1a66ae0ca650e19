#include "runtime/check/clocks.h"

#include <algorithm>

namespace ptx2cpu::rt::check {

void KnownBlocks::Learn(const BlockTimes& times, uint32_t except) {
  asked_ = {};
  for (const auto& [block, until] : times) {
    if (block == except) continue;
    uint32_t& known = times_[block];
    known = std::max(known, until);
  }
}

void KnownBlocks::AddTo(BlockTimes& times) const {
  for (const auto& [block, until] : times_) {
    uint32_t& known = times[block];
    known = std::max(known, until);
  }
}

void BlockClock::Begin(LaunchClock& launch, uint32_t block, uint32_t threads) {
  launch_ = &launch;
  block_ = block;
  fenced_ = keeps_all_ = false;
  threads_.Begin(threads);
  blocks_.Begin();
  counted_.Begin(threads);
  if (!copies_.empty()) copies_.Begin();
  objects_.Begin();
  fences_.clear();
}

void BlockClock::LeaveBlock(uint32_t first, uint64_t lanes) {
  const uint32_t before = threads_.epochs().latest();
  threads_.epochs().Leave(first, lanes);
  if (threads_.epochs().latest() != before && copies_.IsPending()) copies_.Forget(threads_.epochs().latest());
}

void BlockClock::LeaveBlockTogether() {
  threads_.epochs().LeaveTogether();
  if (copies_.IsPending()) copies_.Forget(threads_.epochs().latest());
}

void BlockClock::ArriveAtCounted(uint32_t thread, uint32_t barrier) {
  counted_.Arrive(thread, barrier, threads_.Of(thread, launch_->Tick()));
}

void BlockClock::LeaveCounted(uint32_t thread, uint32_t barrier) {
  if (const Knowledge* known = counted_.Leave(thread, barrier)) threads_.Learn(thread, *known, time());
}

void BlockClock::MeetInWarp(uint32_t thread, uint32_t lanes) {
  if (threads_.LeavesLater(thread, lanes)) return;
  ArriveAtWarp(thread / kLanes * kLanes, ~0u);
  LeaveWholeWarp(thread, lanes);
}

void BlockClock::Publish(uint32_t thread, uint64_t address) {
  launch_->Tick();
  Publication& publication = launch_->published[address];
  launch_->publishing.Add(address);
  blocks_.AddTo(publication.blocks);
  publication.blocks[block_] = time();
  if (publication.block != block_) publication.threads = {};
  publication.block = block_;
  publication.read_by = 0;
  publication.threads.Join(threads_.Of(thread, time()));
}

void BlockClock::Learn(uint32_t thread, uint64_t address) {
  const auto found = launch_->published.find(address);
  if (found == launch_->published.end()) return;
  Publication& publication = found->second;
  if (publication.read_by != block_) {
    publication.read_by = block_;
    blocks_.Learn(publication.blocks, block_);
  }
  if (publication.block == block_) threads_.Learn(thread, publication.threads, time());
}

Stamp BlockClock::NowByCopy(uint32_t thread, uint32_t ptx_line, uint32_t kind, bool writes) {
  if (!copies_.IsPending()) latest_before_copies_ = threads_.epochs().latest();
  return {block_, thread, 1, ptx_line, kNoEpoch, 0, copies_.Issue(thread, kind, writes)};
}

// Some thread that knows it is done comes before this one.
bool BlockClock::IsDone(const Copies::Copy& copy, uint32_t thread) const {
  if (copy.IsSeenBy(thread)) return true;
  return copy.IsSeenBySome([&](const Copies::Seen& seen) {
    return threads_.IsOrdered({block_, seen.thread, 0, 0, kNoEpoch, 0, seen.time}, thread, false);
  });
}

void BlockClock::WaitForCopies(uint32_t thread, uint32_t kind, uint32_t groups) {
  for (const uint32_t copy : copies_.Wait(thread, kind, groups))
    copies_.See(copy, thread, epoch(thread), time());
}

bool BlockClock::IsFenced(const Stamp& stamp, uint32_t thread) const {
  const auto fenced_after = [&](uint32_t who) {
    const auto fence = fences_.find(who / kLanes);
    return fence != fences_.end() && fence->second > stamp.time;
  };
  return stamp.block != block_ || stamp.is_copy != 0 || fenced_after(stamp.thread) || fenced_after(thread);
}

void BlockClock::ArriveAtObject(uint32_t thread, uint64_t address, uint64_t memory, uint64_t change) {
  launch_->Tick();
  PhaseObject& object = objects_.At(address, memory);
  const Copies::Carried carried = copies_.TakeCarried(thread);
  object.Count(carried.copies);
  if (!carried.is_bulk) object.Count(threads_.Of(thread, time()));
  object.Change(change);
}

void BlockClock::AcquireObject(uint32_t thread, uint64_t address, uint64_t memory) {
  const PhaseObject& object = objects_.At(address, memory);
  if (objects_.IsIncomplete(thread, memory)) return;
  threads_.Learn(thread, object.known(), time());
  // A thread that knows of a copy knows of those before.
  for (auto copy = object.copies().rbegin(); copy != object.copies().rend(); ++copy) {
    if (copies_.At(*copy).IsSeenBy(thread)) break;
    copies_.See(*copy, thread, epoch(thread), time());
  }
}

}  // namespace ptx2cpu::rt::check
