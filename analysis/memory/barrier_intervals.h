// Finds the effects of a thread between two barriers of its block: the code is cut at the barriers into
// stretches, and an interval is the stretches that can be reached from one barrier (or the kernel's start)
// before the next.
//
// While one thread is in an interval, the others of its block are in the same one, if all threads arrive at
// the same barrier each time. That is known where no branch on which threads differ decides which barrier
// comes next; a thread may instead leave the kernel there. What a thread did before it left counts as done
// before the barrier that the others wait at.
#pragma once

#include <vector>

#include "analysis/graph/cfg.h"
#include "analysis/memory/memory_effects.h"

namespace ptx2cpu::analysis {

// A part of a block without barriers.
struct Stretch {
  ir::BlockId block;
  uint32_t from = 0, to = 0;  // positions in Block::insts
  std::vector<uint32_t> effects;
  std::vector<uint32_t> next;  // stretches that control continues to
  uint32_t barrier = kNoNode;  // the barrier at its end, as a number
};

struct BlockBarrier {
  ir::InstId inst;
  uint32_t before = kNoNode, after = kNoNode;  // stretches
  bool plain = false;                          // orders memory and nothing more: no reduction
  bool together = true;                        // all threads that have not left arrive here when one does
  bool removed = false;
};

class BarrierIntervals {
 public:
  BarrierIntervals(const ir::Module& module, const ir::Function& f, const MemoryEffects& effects);

  // False for kernels with barriers of part of the block, with computed numbers, or in functions they call:
  // nothing is known about the intervals of those.
  bool known() const { return known_; }
  // All threads that have not left are always in the same interval.
  bool AllTogether() const;
  const std::vector<BlockBarrier>& barriers() const { return barriers_; }
  const std::vector<Stretch>& stretches() const { return stretches_; }
  const std::vector<uint32_t>& effects_before(uint32_t barrier) const { return before_[barrier]; }
  const std::vector<uint32_t>& effects_after(uint32_t barrier) const { return after_[barrier]; }
  // What other threads may do while a thread is in the stretch: all effects of the intervals it is part of.
  // Not after Remove.
  const std::vector<uint32_t>& effects_around(uint32_t stretch) const { return around_[around_of_[stretch]]; }

  // Whether the order of what different threads do before the barrier and after it does not matter.
  bool Redundant(uint32_t barrier) const;
  // Joins the stretches and the intervals on both sides: the others stay as they are.
  void Remove(uint32_t barrier);

 private:
  struct Interval {
    uint32_t barrier = kNoNode;  // where it begins; kNoNode: the kernel's start
    std::vector<uint32_t> stretches;
    std::vector<uint32_t> ends;  // barriers
    std::vector<uint32_t> effects;
    bool apart = false;  // threads may continue to different ends, or leave
  };

  void Cut();
  void Connect();
  void Solve();
  void Form(Interval& interval);
  void Add(uint32_t barrier);
  void End(uint32_t interval);
  Interval From(uint32_t stretch);
  void FindEnds(Interval& interval);
  void FindBefore(uint32_t barrier);
  void AddBefore(const Interval& interval, uint32_t end);
  void FindAround();
  void FindTogether();

  const ir::Function& f_;
  const MemoryEffects& effects_;
  bool known_ = true;
  uint64_t steps_ = 0;  // of all solutions
  std::vector<Stretch> stretches_;
  std::vector<uint32_t> head_;  // per block: its first stretch
  std::vector<BlockBarrier> barriers_;
  std::vector<Interval> intervals_;
  std::vector<uint32_t> begun_by_;                     // by barrier: the interval that it begins
  std::vector<std::vector<uint32_t>> ended_by_;        // by barrier: those that it ends
  std::vector<std::vector<uint32_t>> before_, after_;  // by barrier: effects
  // The effects of all stretches that are part of the same intervals, and, by stretch, the number of its
  // list. A list for each stretch would hold the effects of its whole interval each time.
  std::vector<std::vector<uint32_t>> around_;
  std::vector<uint32_t> around_of_;
  // State of one interval, by stretch; what it has touched is reset.
  std::vector<bool> seen_;
  std::vector<uint32_t> leads_;
};

}  // namespace ptx2cpu::analysis
