// The one way to submit work to a stream. A captured stream makes graph nodes of it instead.
#pragma once

#include <utility>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/stream_object.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

// The stream of a handle for the calling thread: null is the legacy stream, or the thread's own while
// api::PerThreadDefaultStream is active. NOT_INITIALIZED, INVALID_CONTEXT, the sticky error of the stream's
// context, INVALID_HANDLE.
cuda::CUresult StreamOf(cuda::CUstream handle, StreamObject*& stream);

// Puts work at the end of the stream; not for streams that are captured. STREAM_CAPTURE_IMPLICIT for the
// legacy stream while a blocking one is captured. With CUDA_LAUNCH_BLOCKING=1 kernels are waited for, and
// their faults returned.
cuda::CUresult Enqueue(StreamObject& stream, rt::Work work);
// Makes a node of the capture that the stream is in.
cuda::CUresult AppendToCapture(StreamObject& stream, const cuda::CUgraphNodeParams& node, rt::Work work);

// Work whose graph node `describe(CUgraphNodeParams&)` writes: type and parameters, as for cuGraphAddNode.
// It is called only when the stream is captured.
template <typename Describe>
cuda::CUresult Submit(StreamObject& stream, rt::Work work, const Describe& describe) {
  if (!stream.capturing()) [[likely]]
    return Enqueue(stream, std::move(work));
  cuda::CUgraphNodeParams node{};
  describe(node);
  return AppendToCapture(stream, node, std::move(work));
}
template <typename Describe>
cuda::CUresult Submit(cuda::CUstream handle, rt::Work work, const Describe& describe) {
  StreamObject* stream;
  if (const cuda::CUresult error = StreamOf(handle, stream)) return error;
  return Submit(*stream, std::move(work), describe);
}

// Waits until the stream has completed all operations, and then returns the sticky error if there is one.
cuda::CUresult SynchronizeStream(StreamObject& stream);

}  // namespace ptx2cpu::driver
