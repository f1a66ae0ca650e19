// Loops that try one place after the other do not wait in most trips: they yield after some of them.
#pragma once

#include "analysis/regions/spin_loops.h"

namespace ptx2cpu::lowering {

// The edges on which threads that may wait yield. Loops whose every trip is at another place become an inner
// loop of some trips, which no thread leaves for its own reasons to wait, and an outer one, whose back edge
// is given in place of theirs.
std::vector<analysis::SpinLoop> LoopsThatYield(ir::Function& f);

}  // namespace ptx2cpu::lowering
