// Divergent branches that lanes may take both ways: see mask_divergent_arms.cpp.
#pragma once

#include <optional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Split: the blocks that only some lanes run after a branch; nothing when its arms can be entered from
// elsewhere.
std::optional<std::vector<ir::BlockId>> BlocksOfArms(ir::Function& f, ir::BlockId branch);

}  // namespace ptx2cpu::lowering
