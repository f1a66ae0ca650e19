// Lanes that a branch does not admit together.
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

struct LaneGuard {
  ir::BlockId branch;
  uint32_t taken = 0;  // node
  AllLimits limits;
};

// The branches that every way to the block takes one side of, where not all lanes take it together.
std::vector<LaneGuard> FindLaneGuards(const ir::Function& f, const Cfg& cfg, const DominatorTree& dominators,
                                      const LoopForest& loops, const LaneForms& forms, ir::BlockId block);

// The lanes that all of them admit.
uint32_t LanesBehind(std::span<const LaneGuard> guards);

// Whether a lane that one list admits and a lane that the other one does never come there by one execution of
// a branch. `comes_again`: whether it is executed between the two.
bool ExcludeEachOther(std::span<const LaneGuard> a, uint32_t lane_of_a, std::span<const LaneGuard> b,
                      uint32_t lane_of_b, const std::function<bool(ir::BlockId branch)>& comes_again);

}  // namespace ptx2cpu::analysis
