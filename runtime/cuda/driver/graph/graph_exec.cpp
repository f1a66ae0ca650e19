#include "runtime/cuda/driver/graph/graph_exec.h"

#include <algorithm>

#include "runtime/cuda/driver/graph/graph_memory.h"
#include "runtime/cuda/driver/stream/capture.h"

namespace ptx2cpu::driver {

using namespace cuda;

GraphExec::GraphExec(const Graph& graph, unsigned long long flags) : flags_(flags), graph_(graph.Clone()) {
  graph_->inner = true;
  Index(*graph_);
}

void GraphExec::Index(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    by_origin_[node->origin()] = node.get();
    for (const auto& child : node->content.children) Index(*child);
  }
}

GraphNode* GraphExec::Find(CUgraphNode handle) const {
  const GraphNode* node = From<GraphNode>(handle);
  if (node == nullptr) return nullptr;
  const auto found = by_origin_.find(node->id());
  return found == by_origin_.end() ? nullptr : found->second;
}

CUresult GraphExec::NewLaunch(std::shared_ptr<rt::LaunchData>& data) const {
  if (plan_->waits.empty() && plan_->records.empty()) return CUDA_SUCCESS;
  data = std::make_shared<rt::LaunchData>();
  for (const CUevent handle : plan_->waits) {
    EventObject* event = From<EventObject>(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    rt::Ticket ticket = event->event().ticket();
    data->waits.push_back({std::move(ticket.stream), ticket.number});
  }
  while (data->gates.size() < plan_->records.size()) data->gates.push_back(std::make_shared<rt::Gate>());
  return CUDA_SUCCESS;
}

// A wait node waits for what its event stands for now: that was recorded before, so it can not wait for this
// launch. An event of a record node stands for its place in this launch from now on, by a stream that the
// launch lets go there.
CUresult GraphExec::Launch(StreamObject& stream) {
  if (!plan_) plan_ = MakePlan(*graph_);
  std::shared_ptr<rt::LaunchData> data;
  if (const CUresult error = NewLaunch(data)) return error;
  if (const CUresult error =
          BeginGraphMemory(plan_->left, (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0))
    return error;
  if (!last_.Done() && last_.stream != stream.shared_queue()) stream.queue().WaitFor(last_);
  if (const CUresult error = Enqueue(stream, rt::SequenceWork{plan_->steps, data})) return error;
  last_ = stream.queue().Last();
  for (const CUdeviceptr address : plan_->taken) EndGraphMemory(address);
  GraphFootprint::Get().Launch(plan_->memory, last_);
  for (size_t i = 0; i < plan_->records.size(); ++i) {
    EventObject* event = From<EventObject>(plan_->records[i]);
    if (event == nullptr) continue;
    const std::shared_ptr<rt::Stream> held =
        stream.context().streams().NewStream(rt::StreamKind::kNonBlocking);
    const uint64_t number = held->Submit(rt::GateWork{data->gates[i], {last_.stream, last_.number}});
    event->event().SetTicket({held, number});
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  constexpr unsigned long long kFlags =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  const Graph* const graph = From<Graph>(hGraph);
  if (phGraphExec == nullptr || graph == nullptr || (flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (CheckStructure(*graph) != CUDA_GRAPH_INSTANTIATE_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  const bool unique =
      graph->IsUnique();  // its memory and conditions are those of the nodes: one executable graph at a time
  if (unique && !graph->sole_user.expired()) return CUDA_ERROR_NOT_SUPPORTED;
  auto exec = std::make_unique<GraphExec>(*graph, flags);
  if (unique) graph->sole_user = exec->BeSoleUser();
  *phGraphExec = Publish(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                               char* logBuffer, size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize != 0) *logBuffer = '\0';
  return cuGraphInstantiateWithFlags(phGraphExec, hGraph, 0);
}
CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                            char* logBuffer, size_t bufferSize) {
  return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuGraphInstantiateWithFlags(phGraphExec, hGraph, instantiateParams->flags);
  const Graph* const graph = From<Graph>(hGraph);
  instantiateParams->hErrNode_out = graph != nullptr ? HandleOf(graph->FindCircle()) : nullptr;
  const CUgraphInstantiateResult structure =
      graph != nullptr ? CheckStructure(*graph) : CUDA_GRAPH_INSTANTIATE_ERROR;
  instantiateParams->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                                  : structure != CUDA_GRAPH_INSTANTIATE_SUCCESS ? structure
                                  : result == CUDA_ERROR_NOT_SUPPORTED
                                      ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
                                      : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  return Withdraw<GraphExec>(hGraphExec) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  const GraphExec* const exec = From<GraphExec>(hGraphExec);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags();
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
  GraphExec* const exec = From<GraphExec>(hGraph);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  if (!stream->capturing()) return exec->Launch(*stream);
  if (exec->graph().HasConditionalNodes()) return CUDA_ERROR_NOT_SUPPORTED;
  NodeContent content;
  content.params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  content.children.emplace_back(exec->graph().Clone());
  content.children.front()->inner = true;
  NameChildren(content);
  return std::static_pointer_cast<GraphCapture>(stream->capture())
      ->AppendContent(*stream, std::move(content));
}

// There is no device to copy to.
CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
  if (From<GraphExec>(hGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  return stream->capturing() ? RefuseCapturedStream(*stream) : CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
