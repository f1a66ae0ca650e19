// Which block of a region must have run before another, and which must run after it. Reads IR only.
#pragma once

#include <vector>

#include "analysis/graph/dominators.h"

namespace ptx2cpu::analysis {

class BlockOrder {
 public:
  // Of what is reached from `entry`.
  BlockOrder(const ir::Function& f, ir::BlockId entry);

  const std::vector<ir::BlockId>& blocks() const { return blocks_; }  // reverse post order
  bool Dominates(ir::BlockId first, ir::BlockId block) const {        // itself too
    return before_.Dominates(first.index, block.index);
  }
  // The first block that comes before `block` for sure and after which `block` runs for sure: maybe itself.
  ir::BlockId EarliestEquivalent(ir::BlockId block) const;

 private:
  std::vector<ir::BlockId> blocks_;
  DominatorTree before_, after_;
};

}  // namespace ptx2cpu::analysis
