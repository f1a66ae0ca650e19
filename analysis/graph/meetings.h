// Where paths meet that part at a branch: the blocks whose parameters depend on which way was taken (disjoint
// paths; Karrenberg and Hack 2012).
#pragma once

#include "analysis/graph/dominators.h"

namespace ptx2cpu::analysis {

class Meetings {
 public:
  explicit Meetings(const Cfg& g);  // must outlive it

  // Where paths from different `starts` meet without passing `stop`.
  std::vector<uint32_t> Of(const std::vector<uint32_t>& starts, uint32_t stop);

 private:
  void FindFrontiers();
  bool LeadsToOthers(uint32_t node, uint32_t stop) const;
  void Arrive(uint32_t to, uint32_t label);
  void Enqueue(uint32_t node);
  uint32_t Take();

  const Cfg& g_;
  DominatorTree dominators_, post_dominators_;
  std::vector<uint32_t> position_;               // in reverse post order
  std::vector<std::vector<uint32_t>> frontier_;  // dominance frontiers
  // Of one question; what was touched is reset.
  uint32_t stop_ = kNoNode;
  bool came_back_ = false;       // to a block before `stop`, or to it
  std::vector<uint32_t> label_;  // the start, or the meeting point since, that a node is reached from
  std::vector<bool> met_, queued_;
  std::vector<uint32_t> touched_, found_;
  std::vector<uint32_t> queue_, later_;  // positions: a heap; after all of it, those that edges lead back to
  uint32_t at_ = 0;                      // position of the node taken last
  std::vector<uint32_t> inner_;          // places of the starts in the dominator tree
};

}  // namespace ptx2cpu::analysis
