// Which block dominates which: enough for the verifier; analyses have their own dominator trees.
// K. D. Cooper, T. J. Harvey, K. Kennedy: A Simple, Fast Dominance Algorithm (2001).
#pragma once

#include "ir/function.h"

namespace ptx2cpu::ir {

class Dominance {
 public:
  explicit Dominance(const Function& f);  // edges must be valid
  bool Reachable(BlockId block) const { return number_[block.index] != kUnreached; }
  bool Dominates(BlockId above, BlockId below) const;           // also itself; both reachable
  const std::vector<BlockId>& Order() const { return order_; }  // reverse postorder

 private:
  static constexpr uint32_t kUnreached = ~0u;
  std::vector<BlockId> order_;
  std::vector<uint32_t> number_;        // by block: place in order_
  std::vector<uint32_t> idom_;          // by place: place of the immediate dominator
  std::vector<uint32_t> first_, last_;  // by place: interval in the dominator tree's preorder
};

}  // namespace ptx2cpu::ir
