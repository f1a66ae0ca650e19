// Slots whose values do not outlive a warp's turn in a loop over warps: a warp reads only values that it has
// stored in the same turn. One copy of such a slot serves all warps of the block. Reads IR only.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

struct SlotsOfTurn {
  std::vector<bool> is_of_turn;              // by slot
  std::vector<std::vector<uint32_t>> turns;  // such slots of lanes, by the block that ends in the loop
};
// In the Collapsed phase. None where warps or lanes suspend, or lanes wait for those of another arm; the code
// for warps whose lanes are together has one turn, which the resume at warp level begins.
SlotsOfTurn FindSlotsOfTurn(const ir::Function& f);

}  // namespace ptx2cpu::analysis
