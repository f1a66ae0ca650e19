// Factors that are 0, 1 or -1: constants, and choices between these, as comparisons of floats make them
// (`set.gt.f16`). A product with one is the other factor, a zero, or NaN.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Whether a float is such a factor. False: unknown.
bool IsUnitFactor(const ir::Function& f, ir::ValueId factor);

}  // namespace ptx2cpu::analysis
