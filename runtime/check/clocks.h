// What is ordered before what among the threads of one launch: happens-before by logical time.
//
// A launch has one clock, which advances at each release: an arrival at a barrier, an operation that
// publishes. An access carries the time at which it happened; a thread knows, of each other thread, until
// when it is ordered after it:
//   - everything up to a barrier of the whole block, as a number of such barriers (an epoch),
//   - the lanes of its own warp, by warp operations: a row of times,
//   - any thread of the block, by counted barriers and by memory (a row of the block's length, made when
//   needed),
//   - other blocks, by memory and cluster barriers: one time for the whole block (so a thread that
//   synchronises makes
//     its block know: some races between blocks are not found, and none is invented).
// Memory orders as programs use it: an atomic or volatile store after a fence publishes, also the fence of
// another thread of the block; an atomic or volatile load of that address acquires.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "runtime/check/copies.h"
#include "runtime/check/knowledge.h"
#include "runtime/check/phase_objects.h"

namespace ptx2cpu::rt::check {

// By block + 1: until when its accesses are known.
using BlockTimes = std::map<uint32_t, uint32_t>;

// What an address that threads synchronise by has published.
struct Publication {
  uint32_t read_by = 0;  // the block that knows all of `blocks`
  BlockTimes blocks;
  uint32_t block = 0;  // the block whose threads `threads` knows
  Knowledge threads;
};

// One launch. One worker runs all of its blocks where races are looked for, so there is no lock.
struct LaunchClock {
  uint32_t Tick() { return ++time; }
  uint32_t time = 0;
  std::unordered_map<uint64_t, Publication> published;  // by real address
  AddressHull publishing;                               // their addresses
};

// What a block knows of the accesses of others.
class KnownBlocks {
 public:
  void Begin() { times_.clear(), asked_ = {}; }
  bool IsKnown(uint32_t block, uint32_t time) const {
    if (asked_.block != block) {
      const auto known = times_.find(block);
      asked_ = {block, known == times_.end() ? 0 : known->second};
    }
    return time < asked_.until;
  }
  void Learn(const BlockTimes& times, uint32_t except);
  void AddTo(BlockTimes& times) const;

 private:
  BlockTimes times_;
  struct Asked {
    uint32_t block = 0, until = 0;
  };
  mutable Asked asked_;  // the last answer
};

class BlockClock {
 public:
  // A new block of `threads` threads; `block` is its index in the grid plus 1.
  void Begin(LaunchClock& launch, uint32_t block, uint32_t threads);

  Stamp Now(uint32_t thread, uint32_t ptx_line, bool strong = false) const {
    return {block_, thread, 0, ptx_line, epoch(thread), strong ? 1u : 0u, launch_->time};
  }
  // The same of an asynchronous access that the thread has a copy engine make.
  Stamp NowByCopy(uint32_t thread, uint32_t ptx_line, uint32_t kind, bool writes);
  uint32_t block() const { return block_; }
  uint32_t epoch(uint32_t thread) const { return threads_.epochs().PassedBy(thread); }
  uint32_t time() const { return launch_->time; }
  ThreadGroup GroupOf(uint32_t first, uint32_t last) const { return threads_.epochs().GroupOf(first, last); }
  // The barriers of the whole block that some thread has left, as long as what was accessed before the last
  // one, copies included, which barriers do not wait for, is ordered before all that comes.
  uint32_t latest_of_all() const {
    if (keeps_all_) return 0;
    return copies_.IsPending() ? latest_before_copies_ : threads_.epochs().latest();
  }
  void KeepAll() { keeps_all_ = true; }

  // Accesses by any thread of a block at this epoch and time: whether all are ordered before what each thread
  // of the group does now; whether none is, except a thread's own.
  bool IsOrderedForAll(uint32_t block, uint32_t epoch, uint32_t time, const ThreadGroup& group) const {
    return block == block_ ? epoch < group.least_known : blocks_.IsKnown(block, time);
  }
  bool IsOrderedForNone(uint32_t block, uint32_t epoch, uint32_t time, const ThreadGroup& group) const {
    return block == block_ ? threads_.IsOrderedForNone(epoch, time, group) : !blocks_.IsKnown(block, time);
  }
  // Whether the access of the stamp is ordered before what the thread does now.
  bool IsOrdered(const Stamp& stamp, uint32_t thread, bool lockstep) const {
    if (stamp.block != block_) [[unlikely]]
      return blocks_.IsKnown(stamp.block, stamp.is_copy != 0 ? 0 : stamp.time);
    if (stamp.is_copy != 0) {
      return copies_.FirstEpochOf(stamp.time) < threads_.epochs().KnownTo(thread) ||
             IsDone(copies_.At(stamp.time), thread);
    }
    return threads_.IsOrdered(stamp, thread, lockstep);
  }
  // Whether a fence between the views of memory came after the access, by a thread of the warp that made it
  // or of this thread's.
  bool IsFenced(const Stamp& stamp, uint32_t thread) const;

  // Barriers of the whole block.
  void ArriveAtBlock() { launch_->Tick(); }
  void LeaveBlock(uint32_t first, uint64_t lanes);  // threads first + i, for each bit i of lanes
  void LeaveBlockTogether();                        // all threads
  void ArriveAtCounted(uint32_t thread, uint32_t barrier);
  void LeaveCounted(uint32_t thread, uint32_t barrier);
  // Operations of warps, as of KnownThreads.
  void ArriveAtWarp(uint32_t first, uint64_t lanes) { threads_.ArriveAtWarp(first, lanes, launch_->Tick()); }
  void LeaveMembers(uint32_t thread, uint32_t members) { threads_.LeaveMembers(thread, members, time()); }
  void LeaveWholeWarp(uint32_t thread, uint32_t lanes) { threads_.LeaveWholeWarp(thread, lanes, time()); }
  void LeaveConverged(uint32_t thread, uint32_t lanes) { threads_.LeaveConverged(thread, lanes, time()); }
  void MeetInWarp(uint32_t thread, uint32_t lanes);  // a whole warp where all live lanes arrive now
  // Memory.
  void Fence() { fenced_ = true; }
  bool fenced() const { return fenced_; }
  void Publish(uint32_t thread, uint64_t address);
  void Acquire(uint32_t thread, uint64_t address) {
    if (!launch_->published.empty()) Learn(thread, address);
  }
  // Whether an address of these is one that a thread may learn from, by a strong access or as a phase. May be
  // true without one.
  bool MayTeach(uint64_t address, uint64_t bytes) const {
    return launch_->publishing.HasSomeOf(address, bytes) || objects_.HasSomeOf(address, bytes);
  }
  bool Teaches(uint64_t address) const { return launch_->published.contains(address) || IsObject(address); }

  // Asynchronous copies and what waits for them. `memory`: the mbarrier object at the address before what is
  // about to come; `change`: the thread's change of it, all ones: not known.
  Copies& copies() { return copies_; }
  void FenceProxy(uint32_t thread) { fences_[thread / kLanes] = launch_->Tick(); }
  void WaitForCopies(uint32_t thread, uint32_t kind, uint32_t groups);
  void TestPhase(uint32_t thread, uint32_t phase) { objects_.Test(thread, phase); }
  bool IsObject(uint64_t address) const { return objects_.Has(address); }
  void ArriveAtObject(uint32_t thread, uint64_t address, uint64_t memory, uint64_t change);
  // What phases that are complete have published, if the phase that the thread tests is.
  void AcquireObject(uint32_t thread, uint64_t address, uint64_t memory);

 private:
  void Learn(uint32_t thread, uint64_t address);  // what the address has published
  bool IsDone(const Copies::Copy& copy, uint32_t thread) const;

  LaunchClock* launch_ = nullptr;
  uint32_t block_ = 0;
  bool fenced_ = false, keeps_all_ = false;
  KnownThreads threads_;
  KnownBlocks blocks_;
  CountedUses counted_;
  Copies copies_;  // most blocks have none
  uint32_t latest_before_copies_ = 0;
  PhaseObjects objects_;
  std::unordered_map<uint32_t, uint32_t> fences_;  // between views of memory: the last one's time, by warp
};

}  // namespace ptx2cpu::rt::check
