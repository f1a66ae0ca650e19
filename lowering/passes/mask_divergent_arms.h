// Divergent branches that lanes may take both ways: see mask_divergent_arms.cpp.
#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"
#include "ir/result.h"

namespace ptx2cpu::lowering {

// Collapsed: turns every warp-level cond_br that says kDivergent into its arms, one after the other, each run
// by its own lanes. A function without such branches stays as it is. `last_loops`: the warp-level for_lanes
// after which the kernel has nothing left for their lanes.
Status SequenceDivergentArms(ir::Function& f, const std::vector<ir::BlockId>& last_loops);

// Split: the blocks that only some lanes run after a branch; nothing when its arms can be entered from
// elsewhere.
std::optional<std::vector<ir::BlockId>> BlocksOfArms(ir::Function& f, ir::BlockId branch);

}  // namespace ptx2cpu::lowering
