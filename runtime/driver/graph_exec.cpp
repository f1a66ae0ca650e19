#include "runtime/driver/graph_exec.h"

#include <algorithm>
#include <iterator>

#include "runtime/driver/capture.h"
#include "runtime/driver/graph_memory.h"

namespace ptx2cpu::driver {

using namespace cuda;

GraphExec::GraphExec(const Graph& graph, unsigned long long flags) : flags_(flags), graph_(graph.Clone()) {
  graph_->inner = true;
  Index(*graph_);
}

void GraphExec::Index(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    by_origin_[node->origin()] = node.get();
    if (node->content.child != nullptr) Index(*node->content.child);
  }
}

GraphNode* GraphExec::Find(CUgraphNode handle) const {
  const GraphNode* node = From<GraphNode>(handle);
  if (node == nullptr) return nullptr;
  const auto found = by_origin_.find(node->id());
  return found == by_origin_.end() ? nullptr : found->second;
}

void GraphExec::Flatten(const Graph& graph, std::vector<rt::Work>& steps) {
  const auto order = graph.Order();
  if (!order) return;  // instantiation refuses circles
  for (const GraphNode* node : *order) {
    if (!node->enabled) continue;
    const NodeContent& content = node->content;
    if (content.child != nullptr) {
      Flatten(*content.child, steps);
    } else if (node->type() == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
      waits_.push_back(content.params.eventWait.event);
    } else if (node->type() == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
      records_.push_back(content.params.eventRecord.event);
      if (EventObject* event = From<EventObject>(records_.back())) steps.emplace_back(event->event().WorkForGraph());
    } else {
      if (node->type() == CU_GRAPH_NODE_TYPE_MEM_ALLOC) allocated_.push_back(content.params.alloc.dptr);
      if (node->type() == CU_GRAPH_NODE_TYPE_MEM_FREE) freed_.push_back(content.params.free.dptr);
      steps.insert(steps.end(), content.works.begin(), content.works.end());
    }
  }
}

void GraphExec::Prepare() {
  waits_.clear();
  records_.clear();
  allocated_.clear();
  freed_.clear();
  auto steps = std::make_shared<std::vector<rt::Work>>();
  Flatten(*graph_, *steps);
  left_.clear();
  std::ranges::copy_if(allocated_, std::back_inserter(left_), [&](CUdeviceptr address) { return std::ranges::find(freed_, address) == freed_.end(); });
  steps_ = std::move(steps);
}

// A wait node holds the whole launch, and an event of a record node is done when the launch is. That orders more than the
// graph asks for, but what a wait node waits for was recorded before the launch, so it can not wait for the launch.
CUresult GraphExec::Launch(StreamObject& stream) {
  if (steps_ == nullptr) Prepare();
  if (const CUresult error = BeginGraphMemory(left_, (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0)) return error;
  for (const CUevent handle : waits_) {
    EventObject* event = From<EventObject>(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult error = WaitForEvent(stream, *event)) return error;
  }
  if (!last_.Done() && last_.stream != stream.shared_queue()) stream.queue().WaitFor(last_);
  if (const CUresult error = Enqueue(stream, rt::SequenceWork{steps_})) return error;
  last_ = stream.queue().Last();
  for (const CUevent handle : records_) {
    if (EventObject* event = From<EventObject>(handle)) event->event().SetTicket(last_);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  constexpr unsigned long long kFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  const Graph* const graph = From<Graph>(hGraph);
  if (phGraphExec == nullptr || graph == nullptr || (flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (!graph->Order()) return CUDA_ERROR_INVALID_VALUE;
  auto exec = std::make_unique<GraphExec>(*graph, flags);
  if (graph->HasMemoryNodes()) {  // its memory is that of the nodes: one executable graph at a time
    if (!graph->memory_user.expired()) return CUDA_ERROR_NOT_SUPPORTED;
    graph->memory_user = exec->UseMemory();
  }
  *phGraphExec = Publish(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize != 0) *logBuffer = '\0';
  return cuGraphInstantiateWithFlags(phGraphExec, hGraph, 0);
}
CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize) {
  return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuGraphInstantiateWithFlags(phGraphExec, hGraph, instantiateParams->flags);
  const Graph* const graph = From<Graph>(hGraph);
  instantiateParams->hErrNode_out = graph != nullptr ? HandleOf(graph->FindCircle()) : nullptr;
  instantiateParams->result_out = result == CUDA_SUCCESS                       ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                                  : result == CUDA_ERROR_NOT_SUPPORTED         ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
                                  : graph != nullptr && !graph->Order()        ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
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
  NodeContent content;
  content.params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  content.child = exec->graph().Clone();
  content.child->inner = true;
  content.params.graph.graph = HandleOf(content.child.get());
  return std::static_pointer_cast<GraphCapture>(stream->capture())->AppendContent(*stream, std::move(content));
}

// There is no device to copy to.
CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
  if (From<GraphExec>(hGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  return stream->capturing() ? RefuseCapturedStream(*stream) : CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
