// What the threads of one block know of each other's accesses: until when another thread's are ordered before
// what a thread does now. Barriers of the whole block count as epochs, the lanes of a warp know rows of
// times, and only a thread that synchronised by other means has a row of the block's length.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/abi/limits.h"

namespace ptx2cpu::rt::check {

inline constexpr uint32_t kThreads = PTX2CPU_MAX_THREADS_PER_BLOCK, kLanes = PTX2CPU_WARP_SIZE;

// The time and place of an access. 16 bytes.
struct Stamp {
  uint32_t block = 0;  // 1 + index in the grid; 0: no access
  uint32_t thread : 10 = 0;
  uint32_t is_copy : 1 = 0;  // asynchronous: `time` is the number of the copy
  uint32_t ptx_line : 21 = 0;
  uint32_t epoch : 31 = 0;  // barriers of the whole block that the thread had passed
  uint32_t strong : 1 = 0;  // atomic, volatile or relaxed
  uint32_t time = 0;
};
inline constexpr uint32_t kNoEpoch = (1u << 31) - 1;  // of copies

// What is known at a time of the threads of one block.
struct Knowledge {
  uint32_t epoch = 0;           // all accesses before this epoch
  std::vector<uint32_t> until;  // by thread: accesses before this time; empty: none
  void Join(const Knowledge& other);
};

// Threads first to last of a block, and what they have in common.
struct ThreadGroup {
  uint32_t first = 0, last = 0;
  bool at_once = false;                 // all have passed the same barriers; the rest holds only then
  uint32_t epoch = 0, least_known = 0;  // of known epochs
};

// Barriers of the whole block.
class BlockEpochs {
 public:
  void Begin(uint32_t threads);
  // How many barriers the thread has passed, and how many it knows of: it may have learnt of more.
  uint32_t PassedBy(uint32_t thread) const { return passed_[thread]; }
  uint32_t KnownTo(uint32_t thread) const { return (knows_more_ ? known_ : passed_)[thread]; }
  // The most that some thread has passed. All threads have come to them, so that what was accessed before the
  // last one is ordered before all that comes.
  uint32_t latest() const { return latest_; }
  ThreadGroup GroupOf(uint32_t first, uint32_t last) const {
    if (are_equal_ && !knows_more_) return {first, last, true, latest_, latest_};
    return Compared(first, last);
  }
  void Leave(uint32_t first, uint64_t lanes);  // threads first + i, for each bit i of lanes
  void LeaveTogether();                        // all threads
  void Learn(uint32_t thread, uint32_t epoch);
  // The same from lanes that it met, of which the threads know no more until one has learnt.
  void LearnFromLanes(uint32_t thread, uint32_t epoch);

 private:
  ThreadGroup Compared(uint32_t first, uint32_t last) const;

  std::vector<uint32_t> passed_;  // by thread
  std::vector<uint32_t> known_;   // the same, once a thread knows of more than it has passed
  bool knows_more_ = false;
  bool are_equal_ = true;  // all threads have passed latest_ barriers
  uint32_t latest_ = 0;
};

// When lanes arrived at warp operations, and which have not left an operation that others have left. All
// live lanes that take part have arrived when the first leaves.
class WarpMeetings {
 public:
  void Begin(uint32_t threads);
  // Threads first + i, for each bit i of lanes, at one time.
  void Arrive(uint32_t first, uint64_t lanes, uint32_t time);
  // Whether the lanes leave an operation that others have left before.
  bool LeavesLater(uint32_t warp, uint32_t lanes);
  // The first lanes leave, members of an operation.
  void LeaveFirst(uint32_t warp, uint32_t lanes, uint32_t members) {
    yet_to_leave_[warp] = (yet_to_leave_[warp] & ~members) | (members & ~lanes);
  }
  const uint32_t* ArrivalsOf(uint32_t first) const { return arrivals_.data() + first; }
  // Makes the arrivals of a warp what each of its lanes knows of the others.
  void MakeCommon(uint32_t first) { std::copy_n(arrivals_.begin() + first, kLanes, common_.begin() + first); }
  // Until when all lanes of its warp know the thread.
  uint32_t CommonOf(uint32_t thread) const { return common_[thread]; }

 private:
  bool met_ = false;
  std::vector<uint32_t> arrivals_, common_;  // by thread; common_ only grows
  std::vector<uint32_t> yet_to_leave_;       // by warp: lanes
};

class KnownThreads {
 public:
  void Begin(uint32_t threads);
  const BlockEpochs& epochs() const { return epochs_; }
  BlockEpochs& epochs() { return epochs_; }
  // Whether an access by a thread of the block, not by a copy, is ordered before what the thread does now.
  // Few accesses need more than what is here.
  bool IsOrdered(const Stamp& stamp, uint32_t thread, bool lockstep) const {
    if (stamp.thread == thread || stamp.epoch < epochs_.KnownTo(thread)) return true;
    if (stamp.time >= latest_ && !lockstep) return false;
    return IsOrderedByMeetings(stamp, thread, lockstep);
  }
  // Accesses by any thread at this epoch and time: whether none is ordered before what threads of the group
  // do now, except a thread's own.
  bool IsOrderedForNone(uint32_t epoch, uint32_t time, const ThreadGroup& group) const {
    return epoch >= group.epoch && time >= latest_;
  }

  // What the thread knows and has done itself until now.
  Knowledge Of(uint32_t thread, uint32_t now);
  void Learn(uint32_t thread, const Knowledge& knowledge, uint32_t now);

  // Operations of warps. What the lanes that meet have done and learnt until the first leaves, all of them
  // know then. A lane that leaves later, once others have continued, learns nothing more.
  void ArriveAtWarp(uint32_t first, uint64_t lanes, uint32_t time) { warps_.Arrive(first, lanes, time); }
  // The lanes `members` of the thread's warp meet; the thread leaves.
  void LeaveMembers(uint32_t thread, uint32_t members, uint32_t now);
  // All lanes of its warp meet; `lanes` leave.
  void LeaveWholeWarp(uint32_t thread, uint32_t lanes, uint32_t now);
  bool LeavesLater(uint32_t thread, uint32_t lanes) { return warps_.LeavesLater(thread / kLanes, lanes); }
  // `lanes` leave; it is not known with which others they have met.
  void LeaveConverged(uint32_t thread, uint32_t lanes, uint32_t now);

 private:
  using Lanes = std::array<uint32_t, kLanes>;
  struct Row {
    Lanes lanes{};                                   // of its warp: until when it knows them
    std::unique_ptr<std::vector<uint32_t>> threads;  // the same of all threads
  };
  bool IsOrderedByMeetings(const Stamp& stamp, uint32_t thread, bool lockstep) const;
  void NeedRows();
  // What members have learnt of threads of other warps, from barriers and memory.
  Knowledge LearntBy(uint32_t first, uint32_t members) const;
  void TakeOver(uint32_t thread, const Knowledge& knowledge);
  // Until when one of the lanes knows each lane, or when it arrived.
  Lanes KnownBy(uint32_t first, uint32_t lanes) const;
  void Raise(Lanes& lanes, const Lanes& known) const {
    for (uint32_t i = 0; i < kLanes; ++i) lanes[i] = std::max(lanes[i], known[i]);
  }

  BlockEpochs epochs_;
  WarpMeetings warps_;
  uint32_t threads_ = 0;
  uint32_t latest_ = 0;    // time until which any thread knows any other
  bool has_rows_ = false;  // most blocks have barriers of all threads only
  std::vector<Row> rows_;
  std::vector<bool> has_learnt_;  // by warp: of threads of other warps, since all of its lanes met last
};

}  // namespace ptx2cpu::rt::check
