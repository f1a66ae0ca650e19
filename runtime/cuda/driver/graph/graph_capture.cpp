#include "runtime/cuda/driver/graph/graph_capture.h"

#include <algorithm>
#include <unordered_set>

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

uint64_t NextCaptureId() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool IsBlocking(const StreamObject& stream) { return (stream.flags() & CU_STREAM_NON_BLOCKING) == 0; }

void AddEdges(std::vector<GraphEdge>& to, const std::vector<GraphEdge>& edges) {
  for (const GraphEdge& edge : edges) {
    const bool there =
        std::ranges::any_of(to, [&](const GraphEdge& other) { return other.node == edge.node; });
    if (!there) to.push_back(edge);
  }
}

}  // namespace

GraphCapture::GraphCapture(StreamObject& origin, Graph* into, CUstreamCaptureMode mode)
    : Capture(mode),
      id_(NextCaptureId()),
      origin_(&origin),
      own_graph_(into == nullptr ? std::make_unique<Graph>() : nullptr),
      graph_(into == nullptr ? own_graph_.get() : into) {
  if (own_graph_ != nullptr) own_graph_->inner = true;
}

GraphCapture::~GraphCapture() = default;

CUresult GraphCapture::Begin(StreamObject& stream, Graph* into, std::vector<GraphEdge> first,
                             CUstreamCaptureMode mode) {
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream.role() == StreamObject::Role::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream.capturing()) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<GraphCapture> capture(new GraphCapture(stream, into, mode));
  capture->Join(stream, std::move(first));
  AddCapture(capture);
  return CUDA_SUCCESS;
}

void GraphCapture::Join(StreamObject& stream, std::vector<GraphEdge> last) {
  branches_[&stream].last = std::move(last);
  if (IsBlocking(stream)) {
    ++stream.context().blocking_captures;
    has_blocking_ = true;
  }
  stream.SetCapture(shared_from_this());
}

CUresult GraphCapture::Append(StreamObject& stream, const CUgraphNodeParams& node, rt::Work work) {
  NodeContent content;
  if (const CUresult error = CapturedContent(node, std::move(work), content)) return error;
  return AppendContent(stream, std::move(content));
}

CUresult GraphCapture::AppendContent(StreamObject& stream, NodeContent content) {
  std::lock_guard lock(mutex_);
  if (!active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  Branch& branch = branches_[&stream];
  GraphNode& node = graph_->Add(std::move(content), branch.last);
  branch.last = {{&node, {}}};
  return CUDA_SUCCESS;
}

CUresult GraphCapture::Record(StreamObject& stream, EventObject& event) {
  std::lock_guard lock(mutex_);
  if (!active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.SetPlace({shared_from_this(), branches_[&stream].last});
  return CUDA_SUCCESS;
}

CUresult GraphCapture::Wait(StreamObject& stream, const std::vector<GraphEdge>& nodes) {
  std::lock_guard lock(mutex_);
  if (!active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (const auto branch = branches_.find(&stream); branch != branches_.end()) {
    AddEdges(branch->second.last, nodes);
  } else {
    Join(stream, nodes);
  }
  return CUDA_SUCCESS;
}

CUresult GraphCapture::UpdateDependencies(StreamObject& stream, std::span<const GraphEdge> nodes,
                                          bool replace) {
  std::lock_guard lock(mutex_);
  if (!active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<GraphEdge>& last = branches_[&stream].last;
  if (replace) last.clear();
  AddEdges(last, {nodes.begin(), nodes.end()});
  return CUDA_SUCCESS;
}

const std::vector<CUgraphNode>& GraphCapture::Dependencies(StreamObject& stream,
                                                           const std::vector<CUgraphEdgeData>*& data) {
  std::lock_guard lock(mutex_);
  Branch& branch = branches_[&stream];
  branch.handles.clear();
  branch.data.clear();
  for (const GraphEdge& edge : branch.last) {
    branch.handles.push_back(HandleOf(edge.node));
    branch.data.push_back(edge.data);
  }
  data = &branch.data;
  return branch.handles;
}

// Whether another stream has work that the origin does not wait for.
bool GraphCapture::Unjoined() const {
  std::unordered_set<const GraphNode*> joined;
  std::vector<const GraphNode*> open;
  const auto visit = [&](const std::vector<GraphEdge>& edges) {
    for (const GraphEdge& edge : edges) {
      if (joined.insert(edge.node).second) open.push_back(edge.node);
    }
  };
  visit(branches_.at(origin_).last);
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    visit(node->dependencies);
  }
  const auto open_end = [&](const GraphEdge& edge) { return !joined.contains(edge.node); };
  return std::ranges::any_of(left_, open_end) || std::ranges::any_of(branches_, [&](const auto& entry) {
           return std::ranges::any_of(entry.second.last, open_end);
         });
}

void GraphCapture::Release() {
  for (auto& [stream, branch] : branches_) {
    if (IsBlocking(*stream)) --stream->context().blocking_captures;
    stream->SetCapture(nullptr);
  }
  branches_.clear();
  status_.store(Status::kEnded, std::memory_order_release);
  RemoveCapture(*this);
}

CUresult GraphCapture::End(StreamObject& stream, CUgraph* graph) {
  const std::shared_ptr<GraphCapture> keep = shared_from_this();
  std::lock_guard lock(mutex_);
  if (&stream != origin_) {
    Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult result = CUDA_SUCCESS;
  if (mode() != CU_STREAM_CAPTURE_MODE_RELAXED && thread() != std::this_thread::get_id()) {
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  } else if (!active()) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (Unjoined()) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  Release();
  if (result != CUDA_SUCCESS) {
    if (graph != nullptr) *graph = nullptr;
    return result;
  }
  if (graph != nullptr) {
    *graph = HandleOf(graph_);
    if (own_graph_ != nullptr) own_graph_.release()->inner = false;
  }
  return CUDA_SUCCESS;
}

void GraphCapture::Leave(StreamObject& stream) {
  const std::shared_ptr<GraphCapture> keep = shared_from_this();
  std::lock_guard lock(mutex_);
  if (&stream == origin_) return Release();
  if (IsBlocking(stream)) --stream.context().blocking_captures;
  AddEdges(left_, branches_[&stream].last);
  branches_.erase(&stream);
  stream.SetCapture(nullptr);
}

void GraphCapture::Invalidate() {
  Status active = Status::kActive;
  status_.compare_exchange_strong(active, Status::kInvalidated);
}

std::shared_ptr<GraphCapture> CaptureOf(const StreamObject& stream) {
  return std::static_pointer_cast<GraphCapture>(stream.capture());
}
std::shared_ptr<GraphCapture> CaptureOf(const CapturedPlace& place) {
  return std::static_pointer_cast<GraphCapture>(place.capture);
}

}  // namespace ptx2cpu::driver
