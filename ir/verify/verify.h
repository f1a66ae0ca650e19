// The verifier: run after every pass. Its rules, per phase:
//
// Always
//   Every reachable block ends in its one terminator; edges have one argument of the right type per
//   parameter. Each operand and result fits its row (count, types, attributes); a definition dominates its
//   uses; ids are valid; values record where they are defined; calls fit the callee; symbols and slots exist.
//   A function's entry takes its aggregate results' addresses, then its parameters (aggregates as addresses);
//   a kernel's entry takes nothing. Unreachable blocks are not checked.
//
// Simt, and at any phase functions that are not kernels
//   Every block is of level kLane; there are no rows of later phases.
//
// Split
//   A block that holds a BarrierX, a collective or an Agree is of level kWarp (collectives, warp Agree) or
//   kBlock (block barriers, block Agree) and holds one such instruction at most, besides pure ones and reads
//   of parameters and constants. A branch between regions is in a block of its own level and is decided
//   by an Agree (or a constant), except for a warp-level cond_br with kDivergent. From the first block of a
//   region every path reaches the same next block of a higher level, or ends the lane (ret, exit, trap).
//
// Collapsed
//   Block-level code enters warp-level bodies by for_warps and ends in ret; warp-level code enters lane-level
//   bodies by for_lanes and ends with end_warp; lane-level bodies end with end_lane or exit_lane. Flat:
//   block-level code enters lane-level bodies by for_lanes; there is no warp level. Trap and unreachable may
//   end any level; all other edges stay within their level. No SSA value crosses into a body as an argument;
//   a value that a higher level defines may be used below if it is uniform, so never one of a narrower slot.
//   Barriers are at block level, collectives at warp level, an Agree at either. exit_lane needs
//   has_early_exit; live_mask and set_live_mask are at warp level and need it and a parked_slot.
//   Until sequence-divergent-arms has run, warp-level cond_br may be divergent, and warp-level code may end
//   in exit, where its lanes have finished the kernel; nothing keeps live masks of parked lanes yet.
//   Until make-warps-resumable has run, a kernel that resumes warps has its barriers at warp level, a block
//   level, and no resume points. IsFinished is false in both cases.
//   Resumable kernels have no block level: their entry is of warp level, they keep live masks, and list their
//   resume points. Resumes lanes: dispatch is the entry's terminator and nowhere else, resume and suspend
//   are at lane level. Resumes warps: they are at warp level, and resume ends the entry. suspend names a
//   point other than the start and has the words that its kind needs; each class of collectives has an edge
//   of dispatch.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::ir {

// kInternal error naming function, block, instruction and rule on the first violation.
Status Verify(const Module& module, const Function& function);
Status Verify(const Module& module);

// Split, Collapsed: whether lanes of a warp may take both ways of some branch.
bool HasDivergentBranches(const Function& function);
// Collapsed: whether it has branches or exits that are allowed only until sequence-divergent-arms has run.
bool HasOpenArms(const Function& function);
// Whether the pipeline has nothing left to do: code can be emitted.
bool IsFinished(const Function& function);

}  // namespace ptx2cpu::ir
