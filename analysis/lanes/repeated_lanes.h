// Whether a kernel runs a loop over lanes more than once for the same threads.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// For the loop over lanes whose body begins at `entry`, in a collapsed kernel: whether the blocks around it
// are in a loop other than a loop over threads.
bool AreRepeated(const ir::Function& f, ir::BlockId entry);

}  // namespace ptx2cpu::analysis
