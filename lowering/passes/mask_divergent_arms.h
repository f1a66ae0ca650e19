// Divergent branches that lanes may take both ways: see mask_divergent_arms.cpp.
#pragma once

#include "ir/function.h"
#include "ir/result.h"

namespace ptx2cpu::lowering {

// Collapsed: turns every warp-level cond_br that says kDivergent into its arms, one after the other, each run by its own
// lanes. A function without such branches stays as it is.
Status SequenceDivergentArms(ir::Function& f);

}  // namespace ptx2cpu::lowering
