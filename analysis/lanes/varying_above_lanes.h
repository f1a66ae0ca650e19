// Finds the values of warp- and block-level code that differ between the lanes, or threads, that the code is
// for: they are emitted as vectors, the others as scalars. Reads IR only.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// By value; for the Collapsed phase. Values of lane-level code are not examined.
std::vector<bool> FindVaryingAboveLanes(const ir::Function& f);

}  // namespace ptx2cpu::analysis
