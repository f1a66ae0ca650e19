// A call of a library as work of a stream: asynchronous, in the stream's order, captured into graphs,
// recorded in timelines, its faults the context's sticky error; as a kernel's launch would be.
#pragma once

#include <functional>

#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::libraries {

// The calling thread has a context to work in: its own, or the primary context of its device, begun as the
// runtime API begins it. NO_DEVICE, NOT_INITIALIZED, OUT_OF_MEMORY.
cuda::CUresult Begin();

// Queues `run` on the stream; `name` is the exported function and outlives the process. `run` may throw
// std::bad_alloc and use ForEach (core/parallel.h); it must not wait for streams. The errors of a launch.
cuda::CUresult Submit(cuda::CUstream stream, const char* name, std::function<void()> run);

// Waits until the stream has done everything: results in host memory. The sticky error if there is one;
// STREAM_CAPTURE_UNSUPPORTED while the stream is captured, which this invalidates.
cuda::CUresult Synchronize(cuda::CUstream stream);

}  // namespace ptx2cpu::libraries
