// The verifier: run after every pass. Its law, per phase:
//
// Always: every reachable block ends in its one terminator; edges give one argument of the right type per parameter;
//   each operand and result fits its row (count, types, attributes); a definition dominates its uses; ids are valid.
// Simt: every block is of level kLane; no rows marked Split or Collapsed only.
// Split: a block that holds a BarrierX, a collective or an Agree is of level kWarp (collectives, warp Agree) or
//   kBlock (block barriers, block Agree) and holds one such instruction at most, besides constants; a branch between
//   regions stands in a block of its own level and is evaluated on an Agree. From the first block of a region every
//   path reaches the same next block of a higher level, or ends the lane (ret, exit, trap).
// Collapsed: lane-level bodies are entered only by for_lanes, warp-level ones only by for_warps, and end with end_lane /
//   exit_lane / trap, respectively end_warp; no SSA value crosses such an edge (slots carry it; values of uniform
//   shape defined at a higher level that dominates may be used below); block-level code ends in ret.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::ir {

// kInternal error naming function, block, instruction and rule on the first violation.
Status Verify(const Module& module, const Function& function);
Status Verify(const Module& module);

}  // namespace ptx2cpu::ir
