// A library call as work of a stream, like a kernel launch: asynchronous, in the stream's order, captured
// into graphs, recorded in timelines; its faults are the context's sticky error.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/stream/error_state.h"
#include "runtime/worker/fault.h"

namespace ptx2cpu::libraries {

// The calling thread has a context to work in: its own, or the primary context of its device, begun as the
// runtime API begins it. NO_DEVICE, NOT_INITIALIZED, OUT_OF_MEMORY.
cuda::CUresult Begin();

// Queues `run` on the stream; `name` is the exported function and outlives the process. `run` may throw
// std::bad_alloc and use ForEach (core/parallel.h); it must not wait for streams. The errors of a launch.
cuda::CUresult Submit(cuda::CUstream stream, const char* name, std::function<void()> run);

// Queues work that other threads do: `begin`, with the stream's errors and number, starts it, and the stream
// waits until `done` returns true. Both are called again and again where the stream is captured. `begin` is
// also called after a fault; `done` is cheap, may be called on any thread, and is not waited for after a
// fault. The errors of a launch.
cuda::CUresult SubmitAwaited(cuda::CUstream stream, std::function<void(rt::ErrorState&, uint64_t)> begin,
                             std::function<bool()> done);

// "name: bad address ...", of a fault outside of kernels.
rt::LaunchError FaultOf(const char* name, const rt::FaultRecord& record);

// Waits until the stream has done everything: results in host memory. The sticky error if there is one;
// STREAM_CAPTURE_UNSUPPORTED while the stream is captured, which this invalidates.
cuda::CUresult Synchronize(cuda::CUstream stream);
bool IsCaptured(cuda::CUstream stream);

// Calls `submit` with a stream whose work becomes nodes of the graph, after none of those that it has.
cuda::CUresult CaptureInto(cuda::CUgraph graph, const std::function<void(cuda::CUstream)>& submit);

}  // namespace ptx2cpu::libraries
