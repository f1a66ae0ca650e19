// Decides whether the local memory of a collapsed kernel is needed in one region only, which each thread runs
// once.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Then a thread's locals may be anywhere while it runs that region, and nowhere before and afterwards.
bool LocalsAreOfOneRegion(const ir::Function& f);

}  // namespace ptx2cpu::analysis
