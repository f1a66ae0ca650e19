// Values that are never NaN.
//
// A maximum with one of these needs no test for NaN: `x > m ? x : m` is the result whatever x is. Running
// maxima begin with a constant, so they are found through loops, slots and shuffles of their bits.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// By value: of 32 or 64 bits, and as a float of its width a number or an infinity wherever it is defined.
// Empty where the function has no minimum or maximum of floats.
std::vector<bool> FindNumbers(const ir::Function& f);

// By value: a minimum or maximum of 32 or 64 bits that only others read, to which all NaN are one. Empty as
// above.
std::vector<bool> FindOnlyCompared(const ir::Function& f);

}  // namespace ptx2cpu::analysis
