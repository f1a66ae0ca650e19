// The blocks of a lane region in their order, each under the mask of the lanes that reach it.
#pragma once

#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneFlow : LanePart {
 public:
  explicit LaneFlow(LaneVectors& vectors);
  Status EmitLevel(uint32_t level, const Mask& all);
  // Whether the block's code runs whenever that of its level does.
  bool IsOpen(ir::BlockId block) const { return is_open_[block.index]; }

 private:
  Status EmitBlock(ir::BlockId block, const Mask& mask, bool whole_level);
  Status EmitEdges(const ir::Inst& inst, ir::BlockId block, const Mask& mask);
  Status EmitOne(const ir::Inst& inst, const Mask& mask, bool whole_level);
  bool NeedsGuard(ir::BlockId block) const;
  void EmitExit(const Mask& mask);
  void EmitFault(const Mask& mask, const ir::Inst& inst, uint32_t kind);

  std::vector<bool> is_open_;  // by block
};

}  // namespace ptx2cpu::lowering
