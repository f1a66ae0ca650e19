// Loads values of the code before a suspension again for the code after it.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::lowering {

// For a block of warp or block level that was the second part of another: what it uses of the first part
// (pure values, loads of slots) is computed again at its start. The block may be entered where that part did
// not run.
void LoadAgain(ir::Function& f, ir::BlockId after);

}  // namespace ptx2cpu::lowering
