// How ranks find each other: a unique id names a socket of the machine at which the process that made the id
// hands each rank the communicator's region. The socket has no file; it goes with the process.
#pragma once

#include <memory>

#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/libraries/nccl/region.h"

namespace ptx2cpu::nccl {

// A new id, at which a thread of this process serves one communicator. SystemError: no socket or thread.
cuda::ncclResult_t MakeUniqueId(cuda::ncclUniqueId& id);
// The region of the id's communicator of `ranks` ranks, for this rank. InvalidArgument: not an id of ours, or
// the ranks disagree about their number; SystemError: the process that made it has ended, or runs on another
// machine.
cuda::ncclResult_t Meet(const cuda::ncclUniqueId& id, int ranks, int rank, std::shared_ptr<Region>& region);
// A random number of this process.
uint64_t ProcessNumber();

}  // namespace ptx2cpu::nccl
