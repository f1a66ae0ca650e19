// The state of streams and events in a capture in progress, and the calls that captures forbid.
// graph/graph_capture.h makes the graph of a capture.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/stream_object.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

class GraphNode;

// One end of a dependency, seen from the other.
struct GraphEdge {
  GraphNode* node = nullptr;
  cuda::CUgraphEdgeData data{};
};

class Capture {
 public:
  explicit Capture(cuda::CUstreamCaptureMode mode) : mode_(mode), thread_(std::this_thread::get_id()) {}
  virtual ~Capture() = default;
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cuda::CUstreamCaptureMode mode() const { return mode_; }
  std::thread::id thread() const { return thread_; }  // that began it
  virtual Context& context() const = 0;
  virtual bool has_blocking() const = 0;  // a stream that is not CU_STREAM_NON_BLOCKING takes part
  virtual void Invalidate() = 0;
  // The work becomes a node after the stream's last ones. `node` describes it as cuGraphAddNode would.
  virtual cuda::CUresult Append(StreamObject& stream, const cuda::CUgraphNodeParams& node, rt::Work work) = 0;

 private:
  const cuda::CUstreamCaptureMode mode_;
  const std::thread::id thread_;
};

// After these nodes of a graph that is being captured.
struct CapturedPlace {
  std::shared_ptr<Capture> capture;  // null: not in a capture
  std::vector<GraphEdge> nodes;
};

// A capture counts as in progress from AddCapture to RemoveCapture.
void AddCapture(const std::shared_ptr<Capture>& capture);
void RemoveCapture(const Capture& capture);

// For functions that may not be called while streams are captured, because a capture would not see what they
// do (see cuThreadExchangeStreamCaptureMode): STREAM_CAPTURE_UNSUPPORTED, and the captures concerned are
// invalidated. One load while nothing is captured.
cuda::CUresult AllowedDuringCapture();
// The calling thread's mode becomes `mode`; returns the one before.
cuda::CUstreamCaptureMode ExchangeCaptureMode(cuda::CUstreamCaptureMode mode);
// Refuses an operation that is never legal on a captured stream: STREAM_CAPTURE_UNSUPPORTED, and the capture
// becomes invalid.
cuda::CUresult RefuseCapturedStream(StreamObject& stream);
// Refuses an operation that would make the legacy stream wait for blocking streams of which one is captured:
// STREAM_CAPTURE_IMPLICIT, and such captures become invalid.
cuda::CUresult RefuseImplicit(Context& context);
// For functions that wait for a whole context, in any mode: STREAM_CAPTURE_UNSUPPORTED where a stream in it
// is captured.
cuda::CUresult AllowedForContext(Context& context);

}  // namespace ptx2cpu::driver
