// Divergent branches that lanes may take both ways: see mask_divergent_arms.cpp.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Split: the blocks that only some lanes run after a branch; nothing when its arms can be entered from
// elsewhere. For any number of branches, as long as the graph stays the same.
std::function<std::optional<std::vector<ir::BlockId>>(ir::BlockId branch)> BlocksOfArms(ir::Function& f);

}  // namespace ptx2cpu::lowering
