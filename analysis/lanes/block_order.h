// Which block of a region must have run before another, and which must run after it. Reads IR only.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

class BlockOrder {
 public:
  // Of what is reached from `entry`.
  BlockOrder(const ir::Function& f, ir::BlockId entry);

  const std::vector<ir::BlockId>& blocks() const { return blocks_; }  // reverse post order
  bool Dominates(ir::BlockId first, ir::BlockId block) const;         // itself too
  // The first block of which each run leads to one of `block`, and which comes before it for sure: maybe
  // itself.
  ir::BlockId EarliestEquivalent(ir::BlockId block) const;

 private:
  // Number of the closest one that must be passed on every way to (from) a block; kNone: there is none, or
  // not known.
  static constexpr uint32_t kNone = ~0u;
  using Tree = std::vector<uint32_t>;
  static Tree FindTree(const std::vector<std::vector<uint32_t>>& before, const std::vector<uint32_t>& order,
                       uint32_t root);
  static bool IsAbove(const Tree& tree, uint32_t above, uint32_t below);

  std::vector<ir::BlockId> blocks_;
  std::vector<uint32_t> number_;  // by block
  Tree before_, after_;
};

}  // namespace ptx2cpu::lowering
