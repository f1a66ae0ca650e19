// LLVM blocks of the region under emission, and the phis of its blocks' parameters.
#pragma once

#include <span>
#include <vector>

#include "ir/function.h"
#include "lowering/llvm/emit/lane_step.h"

namespace ptx2cpu::lowering {

struct FunctionEmitter;

// The edges of a terminator that stay at its level.
std::span<const ir::Edge> EdgesOfLevel(const ir::Inst& inst);

// Blocks of the level of `entry` that are reached from it without entering a loop's body, in reverse
// post-order.
std::vector<ir::BlockId> BlocksOfLevel(const ir::Function& f, ir::BlockId entry);

class RegionBlocks {
 public:
  explicit RegionBlocks(FunctionEmitter& e);
  // Makes the blocks of a region, which is entered at the first of `order` with `arguments`, and jumps there.
  // A region may be emitted several times: a copy takes the place of the one before.
  Status Open(std::span<const ir::BlockId> order, const std::vector<llvm::Value*>& arguments);
  llvm::BasicBlock* Of(ir::BlockId id) const { return blocks_[id.index]; }
  // Jumps from the builder's block, with the edge's arguments.
  void Jump(const ir::Edge& edge);

 private:
  FunctionEmitter& e_;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<llvm::PHINode*> phis_;  // by value
};

}  // namespace ptx2cpu::lowering
