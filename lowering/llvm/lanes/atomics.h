// Atomics of all lanes: combined, or waiting in the worker's table.
#pragma once

#include "lowering/llvm/lanes/one_by_one.h"

namespace ptx2cpu::lowering {

class LaneAtomics : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitCombined(const ir::Inst& inst, const Mask& mask);
  Status CombineInWindow(const ir::Inst& inst, const Mask& mask, llvm::BasicBlock* after);
  // Applies deferred atomics that an access may observe.
  void ApplyDeferredBefore(const ir::Inst& inst, const Mask& mask);

 private:
  using Stored = LanesOneByOne::Stored;
  Status CombineRange(const ir::Inst& inst, const Mask& mask, llvm::BasicBlock* after);
};

}  // namespace ptx2cpu::lowering
