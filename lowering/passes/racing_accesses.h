// A part of keep_lanes_in_step: accesses between which accesses of other warps may come.
#pragma once

#include <cstdint>

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Where the 32 lanes of a warp act as one thread (the warp's word of the shared variable `uniform` is 0),
// they have one value of a load that decides what they do next, and a store that others wait for occurs once:
//
//   before                              after
//     %a = load %p                        %a = load %p
//     fence                               cond_br (the warp acts as one thread), ^all, ^rest(%a)
//                                       ^all:
//                                         %b, .. = shuffle idx %a, 0, 31, full
//                                         br ^rest(%b)
//                                       ^rest(%c):
//                                         fence
//
// Such a load is strong, or a fence is next, or what a compare-and-swap expects is computed from it; such a
// store is strong, or a fence is in front of it.
void PerformRacingAccessesOnce(ir::Function& f, uint32_t uniform);

}  // namespace ptx2cpu::lowering
