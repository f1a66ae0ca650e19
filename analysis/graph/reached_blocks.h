// The blocks that control can reach from some blocks, along all edges. In collapsed code, from the head of a
// loop's body these are the blocks of one turn of the loop: end_lane and end_warp have no edges.
#pragma once

#include <span>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

class ReachedBlocks {
 public:
  explicit ReachedBlocks(const ir::Function& f) : f_(f), seen_(f.blocks.size()) {}  // it must outlive this

  // The valid starts come first, each once. The result is valid until the next query. A query takes time in
  // proportion to the blocks that it and the one before reach.
  const std::vector<ir::BlockId>& From(std::span<const ir::BlockId> starts);
  const std::vector<ir::BlockId>& From(ir::BlockId start) { return From({&start, 1}); }

  bool Contains(ir::BlockId block) const { return seen_[block.index]; }  // in the result of the last query

 private:
  void Meet(ir::BlockId block);

  const ir::Function& f_;
  std::vector<bool> seen_;
  std::vector<ir::BlockId> found_;
};

}  // namespace ptx2cpu::analysis
