// Finds accesses of different lanes of a warp to the same bytes whose order only lock step decides.
//
//   store shared %s + 4 * tid.x, 0          lanes 16 and 17 clear what lane 0 stores next
//   cond_br (tid.x == 0), ^one, ^rest
//   ^one: store shared %s + 64, %scales
//
// A GPU executes each statement for all lanes that have converged before the next one. From sm_70 on PTX no
// longer promises this, but existing programs rely on it, most often unknowingly. The result has the pairs
// that are found to overlap, lane by lane (values/lane_forms.h); pairs that overlap only for some data, or
// may overlap, are left out. So correct programs have no pairs, unless a warp is not the row of 32 threads
// that is assumed in blocks of unknown shape.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/thread_shape.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

struct LockStepPair {
  ir::InstId first, second;  // no barrier of warp or block lies between them on some way
  ir::BlockId block;         // where the lanes have all executed the first and none the second: a position
  size_t where = 0;          // between two instructions
};

// In program order of the places. Phase Simt. Lanes that wait in loops for each other are left alone.
std::vector<LockStepPair> FindLockStepPairs(const ir::Function& f, std::optional<LaunchShape> launch);

}  // namespace ptx2cpu::analysis
