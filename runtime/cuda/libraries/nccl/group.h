// Calls of a thread between ncclGroupStart and ncclGroupEnd: their streams receive the work together, so that
// sends and receives of one group cannot wait for each other.
#pragma once

#include <functional>

#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/libraries/nccl/communicator.h"

namespace ptx2cpu::nccl {

void StartGroup();
// Hands everything over where this ends the outermost group. The first failure of the group's calls;
// InvalidUsage: there is no group.
cuda::ncclResult_t EndGroup();

// An operation of a stream; at once where no group is open.
cuda::ncclResult_t Add(const char* name, const std::shared_ptr<Communicator>& communicator,
                       const Operation& operation, cuda::CUstream stream);
// What ranks do together and the host waits for: side by side with the others of the group, when it ends.
cuda::ncclResult_t AddTogether(std::function<cuda::ncclResult_t()> make);
// Remembers a failure of a call within a group.
cuda::ncclResult_t Note(cuda::ncclResult_t result);

}  // namespace ptx2cpu::nccl
