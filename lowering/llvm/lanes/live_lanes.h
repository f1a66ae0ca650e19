// Which lanes of a step's warp run: functions that park lanes at divergent branches change that at warp
// level.
#pragma once

#include "lowering/llvm/kernel/function_emitter.h"

namespace ptx2cpu::lowering {

llvm::Value* ParkedMask(Site& site);  // i32; only in functions with a parked_slot
void StoreLiveMask(Site& site, llvm::Value* mask);

}  // namespace ptx2cpu::lowering
