// Trips of a loop that all lanes take, without masks, before the masked loop.
#pragma once

#include <optional>
#include <vector>

#include "lowering/llvm/lanes/bounds.h"
#include "lowering/llvm/lanes/lane_loops.h"

namespace ptx2cpu::lowering {

class WholeTrips : LanePart {
 public:
  using LanePart::LanePart;
  bool PaysToVersion(const LaneRegion::Item& item) const;
  Status EmitWholeTrips(const LaneRegion::Item& item, const LaneLoopState& state);

 private:
  using LoopState = LaneLoopState;
  using LoopPhis = LaneLoopPhis;
  using Bound = LaneBounds::Bound;
  struct Way {
    const LoopState* state;
    llvm::BasicBlock* from;
  };
  // The parts of a loop of whole trips: its head, where some lanes have left after a trip, where some would
  // leave in one, the masked loop for those that are left, and what follows.
  struct TripBlocks {
    llvm::BasicBlock *head, *part, *mixed, *rest, *done;
  };
  bool EndsTrips(uint32_t loop, ir::BlockId block) const;
  bool EndsAfterOwnTrips(const LaneRegion::Item& item, ir::ValueId condition) const;
  bool AllAccess(uint32_t loop) const;
  std::optional<Bound> BoundOfTrips(const LaneRegion::Item& item) const;
  void RestoreSequences(const LaneRegion::Item& item, LoopState& state);
  Status EmitTrip(const LaneRegion::Item& item, const Mask& all, llvm::BasicBlock* mixed, bool bounded);
  LoopState StateAfterTrip(const LaneRegion::Item& item, LoopState state, const std::vector<LoopPhis>& phis);
  std::vector<llvm::BasicBlock*> EmitLeaving(const LaneRegion::Item& item, const TripBlocks& to,
                                             const std::optional<Bound>& bound, LoopState& at_end);
  void JoinTrips(const LaneRegion::Item& item, const TripBlocks& blocks,
                 const std::vector<llvm::BasicBlock*>& all_left, const LoopState& at_end, llvm::Value* none);
  LoopState Rest(const std::vector<Way>& ways);
};

}  // namespace ptx2cpu::lowering
