// Finds loops in which all threads of a block wait for the same event (cuda::barrier and the like) and which
// no block barrier follows.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/thread_shape.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

// All threads of the block come to both places, each as often as the others.
struct BlockWait {
  ir::BlockId before;  // where the thread has not asked yet
  size_t where = 0;    // the position there
  ir::BlockId after;   // where it no longer waits
  ir::Position at;
};

// Every loop that may wait, if block barriers at both places of each hold up no thread that another one
// needs. That is so where all threads of the block ask the same of the same words of shared memory, and one
// that has its answer does nothing for the others that still ask. Of mbarrier objects the tokens of arrivals
// count as the same too, where each thread arrives as often as the others and the number that a phase waits
// for divides the block's: what all have arrived for is complete. None where a loop is of another kind.
std::optional<std::vector<BlockWait>> FindBlockWaits(const ir::Function& f,
                                                     std::optional<LaunchShape> launch);

}  // namespace ptx2cpu::analysis
