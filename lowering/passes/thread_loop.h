// A loop whose trips each thread runs on its own, and its move to the outside of the loop over threads.
#pragma once

#include <optional>
#include <vector>

#include "lowering/passes/inductions.h"

namespace ptx2cpu::lowering {

// One way in, one back edge and one way out, both from the latch, and no loop inside.
struct ThreadLoop {
  ir::BlockId header, latch, entering, after;
  size_t entering_edge = 0, again = 0;  // edges of `entering` and of the latch
  std::vector<ir::BlockId> blocks;
  // By parameter of the header: how it grows, where that is the same for all threads of the block.
  std::vector<std::optional<std::vector<InductionStep>>> steps;
  ir::BlockId guard;      // the branch that skips the loop; invalid: all threads come to it
  size_t guard_edge = 0;  // of the guard, towards the loop
};

// See interchange_loops.cpp. All threads of the block must come to the loop, or to the guard in front of it.
void MoveOutsideThreads(ir::Function& f, const ThreadLoop& loop);

}  // namespace ptx2cpu::lowering
