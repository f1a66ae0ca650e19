// Addresses and accesses of tcgen05's tensor memory.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

// The offset in the shared window at which the block's tensor memory begins: 64 bits.
ir::ValueId TensorMemory(Emitter& e);

}  // namespace ptx2cpu::ptx::rows
