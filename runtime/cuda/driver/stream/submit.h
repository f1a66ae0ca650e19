// The one way by which work gets into a stream. A captured stream makes graph nodes of it instead.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/stream/stream.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

class StreamObject;

// A graph capture in progress, as streams see it (runtime/cuda/driver/stream/capture.* derives from it).
class Capture {
 public:
  virtual ~Capture() = default;
  // The work becomes a node behind the stream's last ones. `node` says it as cuGraphAddNode would.
  virtual cuda::CUresult Append(StreamObject& stream, const cuda::CUgraphNodeParams& node, rt::Work work) = 0;
};

// What a CUstream is.
class StreamObject {
 public:
  using Handle = cuda::CUstream;
  static constexpr HandleKind kKind = HandleKind::kStream;
  enum class Role : uint8_t { kLegacy, kPerThread, kCreated };

  StreamObject(Context& context, std::shared_ptr<rt::Stream> queue, Role role, unsigned flags, int priority)
      : context_(context), queue_(std::move(queue)), role_(role), flags_(flags), priority_(priority) {}

  Context& context() const { return context_; }
  rt::Stream& queue() const { return *queue_; }
  const std::shared_ptr<rt::Stream>& shared_queue() const { return queue_; }
  Role role() const { return role_; }
  unsigned flags() const { return flags_; }  // CU_STREAM_NON_BLOCKING
  int priority() const { return priority_; }

  bool capturing() const { return capturing_.load(std::memory_order_acquire); }
  std::shared_ptr<Capture> capture() const {
    std::lock_guard lock(mutex_);
    return capture_;
  }
  void SetCapture(std::shared_ptr<Capture> capture) {
    std::lock_guard lock(mutex_);
    capture_ = std::move(capture);
    capturing_.store(capture_ != nullptr, std::memory_order_release);
  }

  // cuStreamSetAttribute and what graph capture must remember of the stream.
  std::shared_ptr<void> attachment;

 private:
  Context& context_;
  const std::shared_ptr<rt::Stream> queue_;
  const Role role_;
  const unsigned flags_;
  const int priority_;
  std::atomic<bool> capturing_{false};
  mutable std::mutex mutex_;  // capture_
  std::shared_ptr<Capture> capture_;
};

// What a stream handle means to the calling thread: null is the legacy stream, or the thread's own while
// api::PerThreadDefaultStream is active. NOT_INITIALIZED, INVALID_CONTEXT, the sticky error of the stream's
// context, INVALID_HANDLE.
cuda::CUresult StreamOf(cuda::CUstream handle, StreamObject*& stream);

// Puts work at the end of the stream; not for streams that are captured. STREAM_CAPTURE_IMPLICIT for the
// legacy stream while a blocking one is captured. With CUDA_LAUNCH_BLOCKING=1 kernels are waited for, and
// their faults returned.
cuda::CUresult Enqueue(StreamObject& stream, rt::Work work);
// Makes a node of the capture that the stream is in.
cuda::CUresult AppendToCapture(StreamObject& stream, const cuda::CUgraphNodeParams& node, rt::Work work);

// Work whose graph node `describe(CUgraphNodeParams&)` can tell: type and parameters, as for cuGraphAddNode.
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

// Waits until the stream has done everything, and returns the sticky error if there is one then.
cuda::CUresult SynchronizeStream(StreamObject& stream);

}  // namespace ptx2cpu::driver
