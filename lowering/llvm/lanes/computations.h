// Computations on vectors, and tests whether their results are the sequences that shapes promise.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneComputations : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitPure(const ir::Inst& inst);
  size_t PlaceOfClamp(const ir::Inst& inst) const;
  llvm::Value* HoldsClamped(const ir::Inst& inst, llvm::Value* start, int64_t stride);
  llvm::Value* HoldsWidened(const ir::Inst& inst, llvm::Value* first, int64_t stride);

 private:
  llvm::Value* KnownLowBits(const ir::Inst& inst) const;  // known_lanes.cpp
  bool SetPlaceInRow(const ir::Inst& inst);
  llvm::Value* HoldsAfter(const ir::Inst& inst);
  llvm::Value* HoldsChosen(const ir::Inst& inst);
};

}  // namespace ptx2cpu::lowering
