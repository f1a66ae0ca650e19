#include "runtime/cuda/driver/graph/graph_exec.h"

#include <algorithm>

#include "runtime/cuda/driver/graph/graph_memory.h"

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

// A wait node waits for what its event denotes now: that was recorded before, so it cannot wait for this
// launch. An event of a record node denotes its place in this launch from now on, by a stream that the
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
    event->event().SetTicket({held, number}, {last_.stream, last_.number});
  }
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
