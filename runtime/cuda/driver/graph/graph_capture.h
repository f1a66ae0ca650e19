// Stream capture: work that is submitted to captured streams becomes nodes of a graph. A stream joins a
// capture by waiting for an event that was recorded in it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/cuda/driver/graph/graph.h"
#include "runtime/cuda/driver/stream/capture.h"
#include "runtime/cuda/driver/stream/event.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

class GraphCapture final : public Capture, public std::enable_shared_from_this<GraphCapture> {
 public:
  // `into`: a graph of the program's to add to, with the first node's dependencies; null: a new one.
  static cuda::CUresult Begin(StreamObject& stream, Graph* into, std::vector<GraphEdge> first,
                              cuda::CUstreamCaptureMode mode);

  cuda::CUresult Append(StreamObject& stream, const cuda::CUgraphNodeParams& node, rt::Work work) override;
  // The same with content made already.
  cuda::CUresult AppendContent(StreamObject& stream, NodeContent content);
  cuda::CUresult Record(StreamObject& stream, EventObject& event);
  // `stream` is in this capture or in none; the event's place is in this capture.
  cuda::CUresult Wait(StreamObject& stream, const std::vector<GraphEdge>& nodes);
  cuda::CUresult End(StreamObject& stream, cuda::CUgraph* graph);
  cuda::CUresult UpdateDependencies(StreamObject& stream, std::span<const GraphEdge> nodes, bool replace);
  // Called when the stream is destroyed. A capture ends without its origin; the nodes of other streams stay.
  void Leave(StreamObject& stream);

  void Invalidate() override;
  bool active() const { return status_.load(std::memory_order_acquire) == Status::kActive; }
  bool ended() const { return status_.load(std::memory_order_acquire) == Status::kEnded; }
  uint64_t id() const { return id_; }
  Graph& graph() const { return *graph_; }
  Context& context() const override { return origin_->context(); }
  bool has_blocking() const override { return has_blocking_.load(std::memory_order_relaxed); }
  // Valid until the next operation on the stream.
  const std::vector<cuda::CUgraphNode>& Dependencies(StreamObject& stream,
                                                     const std::vector<cuda::CUgraphEdgeData>*& data);

  ~GraphCapture() override;

 private:
  enum class Status : uint8_t { kActive, kInvalidated, kEnded };
  struct Branch {
    std::vector<GraphEdge> last;             // what the next node depends on
    std::vector<cuda::CUgraphNode> handles;  // of `last`, for queries
    std::vector<cuda::CUgraphEdgeData> data;
  };

  GraphCapture(StreamObject& origin, Graph* into, cuda::CUstreamCaptureMode mode);
  void Join(StreamObject& stream, std::vector<GraphEdge> last);
  bool Unjoined() const;
  void Release();

  const uint64_t id_;
  StreamObject* const origin_;
  std::unique_ptr<Graph> own_graph_;
  Graph* const graph_;
  std::atomic<Status> status_{Status::kActive};
  std::atomic<bool> has_blocking_{false};  // a stream that is not CU_STREAM_NON_BLOCKING takes part
  std::mutex mutex_;                       // branches_, the graph
  std::map<StreamObject*, Branch> branches_;
  std::vector<GraphEdge> left_;  // the last nodes of streams that were destroyed
};

// The capture that a stream is in, or that an event was recorded in; null: none. Every capture is a
// GraphCapture.
std::shared_ptr<GraphCapture> CaptureOf(const StreamObject& stream);
std::shared_ptr<GraphCapture> CaptureOf(const CapturedPlace& place);

}  // namespace ptx2cpu::driver
