// Accesses whose elements have gaps between them, or go downward.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneStrides : LanePart {
 public:
  using LanePart::LanePart;
  void LoadStrided(const ir::Inst& inst, const Mask& mask);
  void StoreStrided(const ir::Inst& inst, const Mask& mask);

 private:
  // Where the elements of a kStrided access are in its run of memory.
  struct Stretch {
    llvm::Value* start;   // pointer
    llvm::Value* active;  // of the run's elements
    unsigned elements;
    unsigned needed;                   // of these, up to the last one that a lane accesses
    unsigned piece;                    // elements of one access
    llvm::SmallVector<int, 64> first;  // of each lane
  };
  Stretch StretchOf(const ir::Inst& inst, const Mask& mask, Memory* memory);
  llvm::SmallVector<unsigned, 16> PiecesOf(const Stretch& run) const;
  llvm::Value* PointerTo(const ir::Inst& inst, const Stretch& run, unsigned element);
  llvm::Align AlignAt(const ir::Inst& inst, unsigned element) const;
};

}  // namespace ptx2cpu::lowering
