// Restores SSA form after blocks have been copied: a value that was defined once has several definitions
// then.
#pragma once

#include <utility>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// One copied value: its definitions after copying, the first in the block where it was.
using Versions = std::vector<ir::ValueId>;

// Uses of versions[0] in blocks for which `outside` is true get the version that reaches them, through new
// block parameters where several do (Braun et al. 2013).
void RepairSsa(ir::Function& f, const std::vector<Versions>& values, const std::vector<bool>& outside);

}  // namespace ptx2cpu::lowering
