#include "analysis/lanes/block_order.h"

namespace ptx2cpu::analysis {

using ir::BlockId;

BlockOrder::BlockOrder(const ir::Function& f, BlockId entry) {
  const Cfg g = BuildCfgFrom(f, entry);
  for (uint32_t node : g.order) {
    if (node != g.exit) blocks_.push_back({node});
  }
  before_ = Dominators(g);
  after_ = PostDominators(g);
}

BlockId BlockOrder::EarliestEquivalent(BlockId block) const {
  uint32_t found = block.index;
  for (uint32_t at = found; at != kNoNode; at = before_.parent[at]) {
    if (after_.Dominates(block.index, at)) found = at;
  }
  return {found};
}

}  // namespace ptx2cpu::analysis
