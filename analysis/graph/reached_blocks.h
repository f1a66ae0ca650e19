// Where control can come from some blocks, along all edges. In collapsed code these are the blocks of a
// loop's turn if it begins at the head of the loop's body: end_lane and end_warp lead nowhere.
#pragma once

#include <span>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

class ReachedBlocks {
 public:
  explicit ReachedBlocks(const ir::Function& f) : f_(f), seen_(f.blocks.size()) {}  // it must outlive this

  // The starts that are valid come first, each once. Valid until the next question, which takes time in
  // proportion to the blocks that it and the one before meet.
  const std::vector<ir::BlockId>& From(std::span<const ir::BlockId> starts);
  const std::vector<ir::BlockId>& From(ir::BlockId start) { return From({&start, 1}); }

  bool Contains(ir::BlockId block) const { return seen_[block.index]; }  // of the last question

 private:
  void Meet(ir::BlockId block);

  const ir::Function& f_;
  std::vector<bool> seen_;
  std::vector<ir::BlockId> found_;
};

}  // namespace ptx2cpu::analysis
