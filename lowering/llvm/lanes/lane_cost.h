// Estimates the cost of a lane region as a loop over lanes and as vectors, from its instructions, the form of
// each, and how often its blocks run.
#pragma once

#include <cstddef>

#include "lowering/llvm/lanes/lane_plan.h"

namespace ptx2cpu::lowering {

constexpr bool IsDivision(ir::Opcode op) {
  return op == ir::Opcode::kDivS || op == ir::Opcode::kDivU || op == ir::Opcode::kRemS ||
         op == ir::Opcode::kRemU;
}

struct LaneCost {
  double one_by_one = 0;    // operations of a loop over `width` lanes
  double together = 0;      // the same as vectors
  size_t code_outside = 0;  // machine instructions of the vectors, outside of loops ...
  size_t code_in_loops = 0;
};
LaneCost CostOf(const FunctionEmitter& e, const LaneRegion& region, unsigned width);

}  // namespace ptx2cpu::lowering
