// Neighbouring blocks that run as one (runtime/abi/joined_blocks.h).
#pragma once

#include "runtime/launch/launch.h"
#include "runtime/worker/fault.h"

namespace ptx2cpu::rt {

// How many of a launch on so many workers: as many as a block can be large, where enough work for all workers
// is left then.
uint32_t JoinedBlocks(const ptx2cpu_kernel& kernel, const LaunchShape& shape, uint32_t workers);

// Makes of blocks that ran as one the block of `ntid` threads that met the fault, or the first where the
// thread is not known.
void NameBlock(const Dim3& ntid, ptx2cpu_block& block, FaultRecord& record);

}  // namespace ptx2cpu::rt
