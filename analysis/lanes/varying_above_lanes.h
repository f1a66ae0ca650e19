// Which values of warp- and block-level code differ between the lanes, or threads, that the code is for:
// those are vectors when it is emitted, the others scalars. Reads IR only.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// By value. In the Collapsed phase; values of lane-level code are not looked at.
std::vector<bool> FindVaryingAboveLanes(const ir::Function& f);

}  // namespace ptx2cpu::analysis
