// Values that are two sequences at an edge of the data.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneRuns : LanePart {
 public:
  using LanePart::LanePart;
  Result<TwoRuns> RunsOf(const ir::Inst& inst);
  bool StepsTwice(const ir::Inst& inst) const;
  // The quotient of a sequence's first value by a divisor that is the same in all lanes; the divisor is at
  // least 1, so that nothing is divided by 0.
  struct Divided {
    llvm::Value *positive, *quotient, *rest;
    llvm::Value* to_step;     // what would be added to the rest for the next quotient
    llvm::Value* steps_once;  // i1: all that is right, and in the lanes the quotient steps once at most
  };
  Divided DivideFirst(const ir::Inst& inst, llvm::Value* first, int64_t stride, llvm::Value* holds);
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
