// Neighbouring blocks that run as one (runtime/abi/joined_blocks.h).
#pragma once

#include "runtime/launch/launch.h"
#include "runtime/worker/fault.h"

namespace ptx2cpu::rt {

// How many blocks of a launch on this many workers are joined: as many as the size of a block allows, if that
// leaves enough work for all workers.
uint32_t JoinedBlocks(const ptx2cpu_kernel& kernel, const LaunchShape& shape, uint32_t workers);

// Of blocks that ran as one, selects the block of `ntid` threads that met the fault, or the first one where
// the thread is not known.
void NameBlock(const Dim3& ntid, ptx2cpu_block& block, FaultRecord& record);

}  // namespace ptx2cpu::rt
