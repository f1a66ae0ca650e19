#include "analysis/graph/reached_blocks.h"

namespace ptx2cpu::analysis {

using ir::BlockId;

const std::vector<BlockId>& ReachedBlocks::From(std::span<const BlockId> starts) {
  for (BlockId block : found_) seen_[block.index] = false;
  found_.clear();
  for (BlockId start : starts) {
    if (start.valid()) Meet(start);
  }
  for (size_t n = 0; n < found_.size(); ++n) {
    for (const ir::Edge& edge : f_.successors(found_[n])) Meet(edge.to);
  }
  return found_;
}

void ReachedBlocks::Meet(BlockId block) {
  if (seen_[block.index]) return;
  seen_[block.index] = true;
  found_.push_back(block);
}

}  // namespace ptx2cpu::analysis
