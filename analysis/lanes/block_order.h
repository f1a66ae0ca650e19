// The order of the blocks of a region: which one must have run before another, and which one must run after
// it. Reads IR only.
#pragma once

#include <vector>

#include "analysis/graph/dominators.h"

namespace ptx2cpu::analysis {

class BlockOrder {
 public:
  // The order of the blocks that are reached from `entry`.
  BlockOrder(const ir::Function& f, ir::BlockId entry);

  const std::vector<ir::BlockId>& blocks() const { return blocks_; }  // reverse post order
  bool Dominates(ir::BlockId first, ir::BlockId block) const {        // itself too
    return before_.Dominates(first.index, block.index);
  }
  // The first block that always runs before `block` and after which `block` always runs. It may be `block`.
  ir::BlockId EarliestEquivalent(ir::BlockId block) const;

 private:
  std::vector<ir::BlockId> blocks_;
  DominatorTree before_, after_;
};

}  // namespace ptx2cpu::analysis
