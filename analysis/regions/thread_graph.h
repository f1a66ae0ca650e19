// The control-flow graph of a collapsed function as one thread runs it: a loop over lanes or warps leads into
// its region, and the region's ends lead to what follows the loop. A thread that suspends continues at its
// resume point. Reads IR only.
#pragma once

#include <vector>

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Whether `op` begins a loop over lanes or warps.
constexpr bool BeginsTurns(ir::Opcode op) {
  return op == ir::Opcode::kForLanes || op == ir::Opcode::kForWarps;
}

// The blocks that end a turn of the loop over lanes or warps that ends block `loop`.
std::vector<ir::BlockId> EndsOfTurn(const ir::Function& f, ir::BlockId loop);

struct ThreadGraph {
  explicit ThreadGraph(const ir::Function& f);

  std::vector<std::vector<ir::BlockId>> successors, predecessors;  // by block
};

}  // namespace ptx2cpu::analysis
