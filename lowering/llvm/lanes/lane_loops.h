// Loops of a lane region: trips are taken until the last lane has left.
#pragma once

#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

// The state of a loop: the lanes that are in it, its head's parameters, and, for the lanes that have left it,
// the exits and the live_out values with which they left.
struct LaneLoopState {
  LaneMask mask;
  std::vector<ShapedValue> params;
  std::vector<llvm::Value*> left, out;
};

struct LaneLoopPhis {
  llvm::PHINode *value = nullptr, *first = nullptr, *holds = nullptr;
  TwoRuns runs{};  // phi nodes but for the lanes, which stay
};

class LaneLoops : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitLoop(const LaneRegion::Item& item, const Mask& mask);
  Status EmitLoopBody(const LaneRegion::Item& item, const LaneLoopState& state);
  std::vector<LaneLoopPhis> HeadPhis(const LaneRegion::Item& item, const LaneLoopState& state,
                                     llvm::BasicBlock* from, bool by_distance);
  void Turn(const LaneRegion::Item& item, const std::vector<LaneLoopPhis>& phis);
  bool GrowsAlike(const LaneRegion::Item& item, size_t number) const;

 private:
  using LoopState = LaneLoopState;
  using LoopPhis = LaneLoopPhis;
  LoopState Entering(const LaneRegion::Item& item, const Mask& mask);
  void TurnRuns(const TwoRuns& phis, const TwoRuns& turning);
};

}  // namespace ptx2cpu::lowering
