// Finds the blocks where paths that diverge at a branch meet again: their parameters depend on the way that
// was taken (disjoint paths; Karrenberg and Hack 2012).
//
// A path ends where it leads back to the branch or to the head of a loop around it: the next trip begins
// there with all threads that have come back. A thread that leaves an inner loop and enters it again meets no
// other thread in it.
#pragma once

#include "analysis/graph/dominators.h"
#include "analysis/graph/loops.h"

namespace ptx2cpu::analysis {

class Meetings {
 public:
  Meetings(const Cfg& g, const LoopForest& loops);  // both must outlive it

  // Where paths from different `starts` meet; `stop`: the branch, or the head of the loop, that they leave.
  std::vector<uint32_t> Of(const std::vector<uint32_t>& starts, uint32_t stop);
  bool IsIrreducible(uint32_t loop) const { return irreducible_[loop]; }  // it, or one around it

 private:
  void FindFrontiers();
  void FindWaysBack();
  void Begin(const std::vector<uint32_t>& starts, uint32_t stop);
  bool HasAllPaths(uint32_t node);
  bool LeadsToStart(uint32_t node) const;
  void GoOn(uint32_t node);
  bool LeadsBackTo(uint32_t loop, uint32_t node) const;
  void ArriveBack();
  void ArriveBackAtEnds();
  void Arrive(uint32_t to, uint32_t label);
  void Enqueue(uint32_t node);
  uint32_t Take();
  std::vector<uint32_t> Finish();

  const Cfg& g_;
  const LoopForest& loops_;
  DominatorTree dominators_;
  std::vector<uint32_t> position_;  // in reverse post order
  // Dominance frontiers without the heads that edges lead back to: those of a nest grow with the square of
  // its depth.
  std::vector<std::vector<uint32_t>> frontier_;
  std::vector<bool> leads_back_;                // what it dominates leads back to a head above it
  std::vector<std::vector<uint32_t>> latches_;  // by loop: their places in the dominator tree, ascending
  std::vector<bool> irreducible_;               // by loop
  // State of one query; what it has touched is reset.
  uint32_t stop_ = kNoNode;
  std::vector<uint32_t> label_;  // the start, or the meeting point since, that a node is reached from
  std::vector<bool> met_, queued_;
  std::vector<uint32_t> touched_, found_, ends_;
  std::vector<uint32_t> queue_, later_;  // positions: a heap; after all of it, those that edges lead back to
  bool went_back_ = false;               // the walk has begun with `later_`
  uint32_t at_ = 0;                      // position of the node taken last
  std::vector<uint32_t> inner_;          // places of the starts in the dominator tree
  std::vector<uint32_t> lead_back_;      // nodes of one label that lead back to heads, not examined yet
  uint32_t back_label_ = kNoNode;        // that label
};

}  // namespace ptx2cpu::analysis
