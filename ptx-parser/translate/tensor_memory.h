// Tensor memory of tcgen05, as instructions on it see it.
#pragma once

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

// The offset in the shared window at which the block's tensor memory begins: 64 bits.
ir::ValueId TensorMemory(Emitter& e);

}  // namespace ptx2cpu::ptx::rows
