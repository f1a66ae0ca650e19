// Factors that are 0, 1 or -1: constants, and choices between these, as comparisons of floats make them
// (`set.gt.f16`). A product with one is the other factor, a zero, or NaN.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Of a float. False: not known.
bool IsUnitFactor(const ir::Function& f, ir::ValueId factor);

}  // namespace ptx2cpu::analysis
