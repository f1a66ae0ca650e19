// Finds lanes that a branch does not admit together.
//
//   cond_br (tid.x == k && tid.y == k), ^one, ^rest      ^one has one lane, whichever it is
//
// What its predicate demands of each lane: LanePredicate::when_true.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analysis/graph/dominators.h"
#include "analysis/graph/loops.h"
#include "analysis/values/lane_forms.h"

namespace ptx2cpu::analysis {

// The guards of a block: branches of which every path to the block takes one side, where not all lanes take
// it together. Only the nearest kMaxGuards are examined: a kernel may have as many early exits as blocks.
class LaneGuards {
 public:
  LaneGuards(const ir::Function& f, const Cfg& cfg, const DominatorTree& dominators, const LoopForest& loops,
             const LaneForms& forms);

  // The lanes that all branches above the block admit.
  uint32_t LanesAt(ir::BlockId block) const;
  // Whether a lane that comes to one block and a lane that comes to the other never do so by one execution of
  // a branch. `comes_again`: whether it is executed between the two.
  bool ExcludeEachOther(ir::BlockId a, uint32_t lane_of_a, ir::BlockId b, uint32_t lane_of_b,
                        const std::function<bool(ir::BlockId branch)>& comes_again) const;

 private:
  static constexpr uint32_t kMaxGuards = 32;
  struct Guard {
    ir::BlockId branch;
    uint32_t above = kNoNode;  // the next one, towards the entry
    AllLimits limits;
  };
  AllLimits LimitsOf(const ir::Function& f, const Cfg& cfg, uint32_t node, uint32_t above) const;
  bool IsCommonAt(const LaneLimits& limits, uint32_t node) const;

  const LoopForest& loops_;
  const LaneForms& forms_;
  std::vector<uint32_t> loop_of_;  // by node: the loop that it is the header of
  std::vector<Guard> guards_;
  std::vector<uint32_t> nearest_;  // by node
};

}  // namespace ptx2cpu::analysis
