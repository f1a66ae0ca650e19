// How ranks find each other: a unique id names a socket of the machine at which the process that made the id
// waits for the ranks, and the address of another one for ranks of other machines. The socket has no file;
// both end with the process. Ranks of one machine share memory; if one comes over the network (as all do
// where NCCL_SHM_DISABLE is 1), all pass their elements over connections between each two of them.
#pragma once

#include <memory>

#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/libraries/nccl/exchange.h"

namespace ptx2cpu::nccl {

// A new id, at which a thread of this process waits for the ranks of one communicator. SystemError: no socket
// or thread.
cuda::ncclResult_t MakeUniqueId(cuda::ncclUniqueId& id);
// Waits until all ranks of the id's communicator have come. InvalidArgument: not an id of ours, or the ranks
// disagree about their number; InvalidUsage: the rank exists; RemoteError: a rank ended before all had come;
// SystemError: the process that made the id cannot be reached, or this machine has no address for others.
cuda::ncclResult_t Meet(const cuda::ncclUniqueId& id, int ranks, int rank,
                        std::unique_ptr<Exchange>& exchange);

}  // namespace ptx2cpu::nccl
