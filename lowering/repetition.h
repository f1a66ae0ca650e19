// Whether a thread may run a kernel for long.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Whether a thread may execute an instruction more than once: by a loop, or by a function that may call
// itself. In any phase; loops over threads do not count.
bool Repeats(const ir::Module& module);

}  // namespace ptx2cpu::lowering
