#include "lowering/llvm/lanes/lane_vectors.h"

#include <llvm/IR/Constants.h>

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

LaneVectors::LaneVectors(FunctionEmitter& e, const LanePlan& plan)
    : e(e), region(plan.region), width(plan.width), is_wide(plan.is_wide) {}

Status LaneVectors::Run(Value live, llvm::BasicBlock* mixed) {
  partings.SetMixed(mixed);
  LaneStep lanes = *e.step;
  lanes.level = ir::Level::kLane;
  lanes.width = width;
  lanes.access_group = nullptr;
  lanes.under_masks = true;
  CurrentStep::Scope scope(e.step, lanes);
  ValueMap::LaneRegionScope sequences(e.values);
  if (live == nullptr)
    live = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(e.b.getInt1Ty(), width));
  return flow.EmitLevel(0, {live, e.b.getTrue()});
}

}  // namespace ptx2cpu::lowering
