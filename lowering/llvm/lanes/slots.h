// Slots of all lanes: memory for values that are live across a boundary.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneSlots : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitSlotStore(const ir::Inst& inst, const Mask& mask, bool whole_level);
  Status LoadSlotOfRow(const ir::Inst& inst, const Mask& mask);
};

}  // namespace ptx2cpu::lowering
