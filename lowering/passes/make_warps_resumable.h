// The last step of collapsing a kernel that resumes warps: see make_warps_resumable.cpp.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Collapsed, with its barriers at warp level: the loop over warps goes, each barrier ends a warp's turn.
void MakeWarpsResumable(ir::Function& f);

}  // namespace ptx2cpu::lowering
