// Warps that exchange values through volatile shared memory without a barrier: the last steps of reductions
// and scans as they were written for GPUs before sm_70.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::lowering {

// op is kLoad or kStore.
bool IsVolatile(const ir::Inst& inst, ir::Opcode op, ir::Space space);

// Whether a volatile store to shared memory reaches, without a barrier in between, a volatile load of an
// address that is not stored to. False if such an access is in a loop without a block barrier: there lanes
// wait for each other, one by one, and must not be held together.
bool ExchangesByLockStep(const ir::Function& f);

}  // namespace ptx2cpu::lowering
