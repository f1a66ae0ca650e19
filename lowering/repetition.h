// Decides whether a thread may run a kernel for long.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Whether a thread may execute an instruction more than once: by a loop, or by a function that may call
// itself. Loops over threads do not count, nor those through resume points.
bool Repeats(const ir::Module& module);

// Whether code that takes many times as long as the best may be what a launch of the module's kernel,
// functions[0], runs first: it does not run that for long.
bool MayBeginSlowly(const ir::Module& module, bool many_blocks);

}  // namespace ptx2cpu::lowering
