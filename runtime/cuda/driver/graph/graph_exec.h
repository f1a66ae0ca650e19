// Executable graphs: a copy of a graph, and the plan that a launch of it submits as one operation.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/cuda/driver/graph/graph.h"
#include "runtime/cuda/driver/graph/graph_plan.h"
#include "runtime/cuda/driver/stream/event.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

class GraphExec {
 public:
  using Handle = cuda::CUgraphExec;
  static constexpr HandleKind kKind = HandleKind::kGraphExec;

  // The graph has no cycles.
  GraphExec(const Graph& graph, unsigned long long flags);

  unsigned long long flags() const { return flags_; }
  const Graph& graph() const { return *graph_; }
  // The node here for a node of the graph that this was made from, child graphs included. Null: there
  // is none.
  GraphNode* Find(cuda::CUgraphNode node) const;
  // A node's parameters have changed.
  void Changed() { plan_.reset(); }
  cuda::CUresult Update(const Graph& graph, cuda::CUgraphExecUpdateResultInfo& info);
  // The child graph of a node is replaced by one of the same topology.
  cuda::CUresult UpdateChild(GraphNode& node, const Graph& graph, cuda::CUgraphExecUpdateResultInfo& info);
  // New parameters of one node; the type stays.
  cuda::CUresult SetParams(cuda::CUgraphNode node, cuda::CUgraphNodeParams params);
  cuda::CUresult Launch(StreamObject& stream);
  // Lives as long as this does.
  std::weak_ptr<const void> BeSoleUser() { return sole_use_ = std::make_shared<int>(0); }

 private:
  void Index(const Graph& graph);
  // The data of a launch that its steps need; null: none.
  cuda::CUresult NewLaunch(std::shared_ptr<rt::LaunchData>& data) const;

  const unsigned long long flags_;
  std::unique_ptr<Graph> graph_;
  std::unordered_map<uint64_t, GraphNode*> by_origin_;
  std::optional<GraphPlan> plan_;  // made from the graph at the first launch after a change
  std::shared_ptr<const void> sole_use_;
  rt::Ticket last_;  // the latest launch: the next one waits for it
};

}  // namespace ptx2cpu::driver
