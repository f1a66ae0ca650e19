// Loops that do not wait in most trips (analysis::SpinLoop::seldom) yield after some of them.
#pragma once

#include "analysis/regions/spin_loops.h"

namespace ptx2cpu::lowering {

// The edges on which threads that may wait yield. Loops that seldom wait become an inner loop of some trips,
// which no thread leaves for its own reasons to wait, and an outer one, whose back edges are given in place
// of theirs.
std::vector<analysis::SpinLoop> LoopsThatYield(ir::Function& f,
                                               analysis::PlainReads plain = analysis::PlainReads::kDoNotWait);

// Lanes: a yield on each of them (insert_yields.cpp).
void YieldWhereLanesWait(ir::Function& f);

}  // namespace ptx2cpu::lowering
