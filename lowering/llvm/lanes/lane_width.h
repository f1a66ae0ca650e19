// Decides how many lanes a vector of a region holds.
#pragma once

#include "lowering/llvm/lanes/lane_plan.h"

namespace ptx2cpu::lowering {

// Lanes that seem to walk along rows of their own may walk along parts of shared rows, where their places are
// divided into rows and columns: windows of an image (`in[(i / w) * pitch + i % w * stride + k]`).
enum class Rows : uint8_t { kOwn, kShared };

// The width follows from the region's types, the values that its loops keep, and the machine's registers; or
// from the options. `row`: the number of lanes side by side, 0 where it is known at run time only.
unsigned WidthOf(const FunctionEmitter& e, const LaneRegion& region, unsigned row, Rows rows = Rows::kOwn);

// Lanes that a loop goes over together in each trip, so that memory is walked in order and what the loop
// keeps stays in registers: as many as these hold of it, more than WidthOf. 0: not so, the loop does too
// much, or its accesses do not lie side by side.
unsigned WideWidthOf(const FunctionEmitter& e, const LaneRegion& region, unsigned row);

}  // namespace ptx2cpu::lowering
