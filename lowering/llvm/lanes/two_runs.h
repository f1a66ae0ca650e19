// Sequences that are two at an edge of the data.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneRuns : LanePart {
 public:
  using LanePart::LanePart;
  Result<TwoRuns> RunsOf(const ir::Inst& inst);
  bool StepsTwice(const ir::Inst& inst) const;
  bool IsDivided(const ir::Inst& inst) const;
  Status EmitDivided(const ir::Inst& inst);
  bool LoadsInRuns(const ir::Inst& load, const TwoRuns& runs) const;
  bool StoresInRuns(const ir::Inst& store, const TwoRuns& runs) const;
  Status StoreRuns(const ir::Inst& store, const TwoRuns& runs, const Mask& mask);
  Status LoadRuns(const ir::Inst& load, const TwoRuns& runs, const Mask& mask);

 private:
  Result<TwoRuns> EachRunOf(const ir::Inst& inst);
  TwoRuns ChosenRuns(const ir::Inst& inst);
  Result<TwoRuns> ClampedRuns(const ir::Inst& inst);
  Status DivideRuns(const ir::Inst& inst);
};

}  // namespace ptx2cpu::lowering
