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

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/abi/limits.h"
#include "runtime/check/copies.h"

namespace ptx2cpu::rt::check {

inline constexpr uint32_t kThreads = PTX2CPU_MAX_THREADS_PER_BLOCK, kLanes = PTX2CPU_WARP_SIZE;

// The time and place of an access. 16 bytes.
struct Stamp {
  uint32_t block = 0;  // 1 + index in the grid; 0: no access
  uint32_t thread : 10 = 0;
  uint32_t is_copy : 1 = 0;  // asynchronous: `time` is the number of the copy
  uint32_t ptx_line : 21 = 0;
  uint32_t epoch = 0;  // barriers of the whole block that the thread had passed
  uint32_t time = 0;
};

// What is known at a time of the threads of one block.
struct Knowledge {
  uint32_t epoch = 0;           // all accesses before this epoch
  std::vector<uint32_t> until;  // by thread: accesses before this time; empty: none
  void Join(const Knowledge& other);
  void Raise(uint32_t thread, uint32_t time);
};

// What an address that threads synchronise by has published.
struct Publication {
  uint32_t read_by = 0;                 // the block that knows all of `blocks`
  std::map<uint32_t, uint32_t> blocks;  // by block + 1: until when
  uint32_t block = 0;                   // the block whose threads `threads` knows
  Knowledge threads;
};

// From the least to the greatest address of some.
struct AddressHull {
  uint64_t least = ~uint64_t{0}, greatest = 0;
  void Add(uint64_t address) {
    least = std::min(least, address);
    greatest = std::max(greatest, address);
  }
  bool HasSomeOf(uint64_t address, uint64_t bytes) const {
    return least < address + bytes && address <= greatest;
  }
};

// One launch. One worker runs all of its blocks where races are looked for, so there is no lock.
struct LaunchClock {
  uint32_t Tick() { return ++time; }
  uint32_t time = 0;
  std::unordered_map<uint64_t, Publication> published;  // by real address
  AddressHull publishing;                               // their addresses
};

// Threads first to last of a block, and what they have in common.
struct ThreadGroup {
  uint32_t first = 0, last = 0;
  bool at_once = false;                 // all have passed the same barriers; the rest holds only then
  uint32_t epoch = 0, least_known = 0;  // of known epochs
};

class BlockClock {
 public:
  // A new block of `threads` threads; `block` is its index in the grid plus 1.
  void Begin(LaunchClock& launch, uint32_t block, uint32_t threads);

  Stamp Now(uint32_t thread, uint32_t ptx_line) const {
    return {block_, thread, 0, ptx_line, epochs_[thread], launch_->time};
  }
  // The same of an asynchronous access that the thread has a copy engine make.
  Stamp NowByCopy(uint32_t thread, uint32_t ptx_line, uint32_t kind, bool writes);
  uint32_t block() const { return block_; }
  uint32_t epoch(uint32_t thread) const { return epochs_[thread]; }
  // Barriers of the whole block that some thread has left. All threads have come to them, so that what was
  // accessed before the last one is ordered before all that comes.
  uint32_t latest() const { return latest_; }
  // The same of what was accessed before, copies included, which barriers do not wait for.
  uint32_t latest_of_all() const {
    if (keeps_all_) return 0;
    return copies_.IsPending() ? latest_before_copies_ : latest_;
  }
  void KeepAll() { keeps_all_ = true; }
  uint32_t time() const { return launch_->time; }
  ThreadGroup GroupOf(uint32_t first, uint32_t last) const {
    if (one_epoch_ && !knows_more_) return {first, last, true, latest_, latest_};
    return Compared(first, last);
  }
  // Accesses by any thread of a block at this epoch and time: whether all are ordered before what each thread
  // of the group does now; whether none is, except a thread's own.
  bool IsOrderedForAll(uint32_t block, uint32_t epoch, uint32_t time, const ThreadGroup& group) const {
    return block == block_ ? epoch < group.least_known : IsBlockKnown(block, time);
  }
  bool IsOrderedForNone(uint32_t block, uint32_t epoch, uint32_t time, const ThreadGroup& group) const {
    return block == block_ ? epoch >= group.epoch && time >= most_known_ : !IsBlockKnown(block, time);
  }
  // Whether the access of the stamp is ordered before what the thread does now.
  bool IsOrdered(const Stamp& stamp, uint32_t thread, bool lockstep) const {
    if (stamp.is_copy != 0) return IsCopyOrdered(stamp, thread);
    if (stamp.block != block_) return IsBlockKnown(stamp.block, stamp.time);
    if (stamp.thread == thread || stamp.epoch < KnownEpoch(thread)) return true;
    const bool same_warp = stamp.thread / kLanes == thread / kLanes;
    if (stamp.time >= most_known_ && !lockstep) return false;
    if (same_warp && (lockstep || stamp.time < common_[stamp.thread])) return true;
    if (!has_state_) return false;
    const Thread& me = state_[thread];
    if (same_warp && stamp.time < me.lanes[stamp.thread % kLanes]) return true;
    return me.more != nullptr && stamp.time < (*me.more)[stamp.thread];
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
  // Threads first + i, for each bit i of lanes, at one time.
  void ArriveAtWarp(uint32_t first, uint64_t lanes);
  // All live members, or lanes of the thread's warp, have arrived when the first leaves: what each has done
  // and learnt until then all know then. A lane that leaves later, once others have continued, learns nothing
  // more.
  void LeaveMembers(uint32_t thread, uint32_t members);
  void LeaveWholeWarp(uint32_t thread, uint32_t lanes);  // these of its warp leave
  void MeetInWarp(uint32_t thread, uint32_t lanes);      // the same where all live lanes arrive now
  void LeaveConverged(uint32_t thread, uint32_t lanes);  // it is not known with which others these have met
  void Fence() { fenced_ = true; }
  bool fenced() const { return fenced_; }
  void Publish(uint32_t thread, uint64_t address);
  void Acquire(uint32_t thread, uint64_t address) {
    if (!launch_->published.empty()) Learn(thread, address);
  }
  // Whether an address of these is one that a thread may learn from, by a strong access or as a phase. May be
  // true without one.
  bool MayTeach(uint64_t address, uint64_t bytes) const {
    return launch_->publishing.HasSomeOf(address, bytes) || object_hull_.HasSomeOf(address, bytes);
  }
  bool Teaches(uint64_t address) const { return launch_->published.contains(address) || IsObject(address); }

  // Asynchronous copies and what waits for them. `memory`: the mbarrier object at the address before what is
  // about to come; `change`: the thread's change of it, all ones: not known.
  void FenceProxy(uint32_t thread);
  void Commit(uint32_t thread, uint32_t kind) { copies_.Commit(thread, kind); }
  void WaitForCopies(uint32_t thread, uint32_t kind, uint32_t groups);
  void Carry(uint32_t thread, uint32_t kind) { copies_.Carry(thread, kind); }
  void TestPhase(uint32_t thread, uint32_t phase) { tested_[thread] = phase; }
  bool IsObject(uint64_t address) const { return objects_.contains(address); }
  void ArriveAtObject(uint32_t thread, uint64_t address, uint64_t memory, uint64_t change);
  // What phases that are complete have published, if the phase that the thread tests is.
  void AcquireObject(uint32_t thread, uint64_t address, uint64_t memory);

 private:
  struct Thread {
    std::array<uint16_t, 16> turns{};             // of counted barriers: how often it came to each
    std::array<uint32_t, kLanes> lanes{};         // of its warp: until when it knows them
    std::unique_ptr<std::vector<uint32_t>> more;  // of all threads
  };
  struct Counted {  // one use of a counted barrier
    uint32_t turn = ~0u;
    Knowledge knowledge;
  };
  struct Object {               // an mbarrier object
    uint64_t memory = 0;        // as it was when looked at last
    uint64_t now = 0;           // with the changes that have come since
    Knowledge pending, before;  // of those who arrived in this phase, and in those that are complete
    std::vector<uint32_t> pending_copies, copies;
    void Look(uint64_t found);
    void Complete();
  };
  bool IsBlockKnown(uint32_t block, uint32_t time) const {
    if (asked_.block != block) {
      const auto known = blocks_.find(block);
      asked_ = {block, known == blocks_.end() ? 0 : known->second};
    }
    return time < asked_.until;
  }
  ThreadGroup Compared(uint32_t first, uint32_t last) const;
  // Most blocks have barriers of all threads only.
  void NeedState();
  Knowledge KnowledgeOf(uint32_t thread) const;
  void Learn(uint32_t thread, const Knowledge& knowledge);
  void Learn(uint32_t thread, uint64_t address);  // what the address has published
  // Where lanes from `first` on meet, each knows what the others have learnt.
  Knowledge LearntBy(uint32_t first, uint32_t members) const;
  void TakeOver(uint32_t thread, const Knowledge& knowledge);
  bool LeavesLater(uint32_t warp, uint32_t lanes);

  LaunchClock* launch_ = nullptr;
  uint32_t block_ = 0, threads_ = 0;
  bool fenced_ = false;
  uint32_t KnownEpoch(uint32_t thread) const { return (knows_more_ ? known_epochs_ : epochs_)[thread]; }

  std::vector<uint32_t> epochs_;        // by thread: barriers of the whole block that it has passed
  std::vector<uint32_t> known_epochs_;  // those it knows of, once a thread knows of more than it has passed
  bool knows_more_ = false;
  bool one_epoch_ = true;  // all threads have passed latest_ barriers
  uint32_t latest_ = 0;
  uint32_t most_known_ = 0;  // time until which any thread knows any other
  bool has_state_ = false, met_in_warps_ = false;
  std::vector<Thread> state_;
  std::vector<bool> has_learnt_;        // by warp: of threads of other warps, since all of its lanes met last
  std::vector<uint32_t> arrivals_;      // at warp operations, by thread
  std::vector<uint32_t> yet_to_leave_;  // by warp: lanes of a meeting that others have left
  std::vector<uint32_t> common_;        // by thread: until when all lanes of its warp know it
  std::array<std::array<Counted, 2>, 16> counted_;
  std::map<uint32_t, uint32_t> blocks_;  // other blocks: until when they are known
  struct Asked {
    uint32_t block = 0, until = 0;
  };
  mutable Asked asked_;  // the last answer
  // Copies of the block. Most blocks have none.
  bool IsDone(const Copies::Copy& copy, uint32_t thread) const;
  bool IsCopyOrdered(const Stamp& stamp, uint32_t thread) const;
  Copies copies_;
  uint32_t latest_before_copies_ = 0;
  bool keeps_all_ = false;
  std::unordered_map<uint32_t, uint32_t> tested_;  // the phase that a thread's next load tests
  std::unordered_map<uint64_t, Object> objects_;   // by real address
  AddressHull object_hull_;
  std::unordered_map<uint32_t, uint32_t> fences_;  // between views of memory: the last one's time, by warp
};

}  // namespace ptx2cpu::rt::check
