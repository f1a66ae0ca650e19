// Streams that wait for a word of memory or write one (cuStreamWaitValue32 and the like).
#pragma once

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

// Any operation of cuStreamBatchMemOp. INVALID_VALUE: no address, a misaligned one, an unknown flag or
// operation.
cuda::CUresult MakeMemoryOperation(const cuda::CUstreamBatchMemOpParams& operation, rt::Work& work);

}  // namespace ptx2cpu::driver
