// Changing an executable graph: one node's parameters, or all of them from another graph of the same
// topology.
#include <unordered_set>

#include "runtime/cuda/driver/graph/graph_exec.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

bool Cooperative(const NodeContent& content) {
  const auto found = content.attributes.find(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  return found != content.attributes.end() && found->second.cooperative != 0;
}

// Why a node's content cannot replace another's.
CUgraphExecUpdateResult Compare(const NodeContent& before, const NodeContent& after) {
  if (before.type() != after.type()) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  switch (before.type()) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      if (before.params.kernel.ctx != after.params.kernel.ctx)
        return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
      if (Cooperative(before) != Cooperative(after)) return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
      return CU_GRAPH_EXEC_UPDATE_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      const CUDA_MEMCPY3D &old_copy = before.params.memcpy.copyParams,
                          &new_copy = after.params.memcpy.copyParams;
      const bool same = old_copy.srcMemoryType == new_copy.srcMemoryType &&
                        old_copy.dstMemoryType == new_copy.dstMemoryType;
      return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto &old_fill = before.params.memset, &new_fill = after.params.memset;
      const bool same_shape = old_fill.width == new_fill.width && old_fill.height == new_fill.height;
      const bool rows = old_fill.height > 1 || new_fill.height > 1;
      return rows && !same_shape ? CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED
                                 : CU_GRAPH_EXEC_UPDATE_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return before.params.alloc.bytesize == after.params.alloc.bytesize
                 ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                 : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
      const auto &old_one = before.params.conditional, &new_one = after.params.conditional;
      const bool same = old_one.type == new_one.type && old_one.size == new_one.size;
      return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
    case CU_GRAPH_NODE_TYPE_HOST:  // from here on: an update may change all
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      break;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

struct Pair {
  GraphNode* node;           // of the executable graph
  const GraphNode* changed;  // takes its place
};

CUresult Fail(CUgraphExecUpdateResultInfo& info, CUgraphExecUpdateResult result, const GraphNode* node,
              const GraphNode* from = nullptr) {
  info = {result, HandleOf(node), HandleOf(from)};
  return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

std::vector<GraphNode*> Sinks(const Graph& graph) {
  std::vector<GraphNode*> sinks;
  for (const auto& node : graph.nodes()) {
    if (node->dependents.empty()) sinks.push_back(node.get());
  }
  return sinks;
}

// Nodes are paired from the ends of the graph: the sinks in the order of their making, then, again and again,
// the dependencies of a pair in the order of their edges.
class Pairing {
 public:
  Pairing(std::vector<Pair>& pairs, CUgraphExecUpdateResultInfo& info) : pairs_(pairs), info_(info) {}

  CUresult Match(const Graph& graph, const Graph& changed) {
    if (graph.nodes().size() != changed.nodes().size())
      return Fail(info_, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
    const std::vector<GraphNode*> sinks = Sinks(graph), changed_sinks = Sinks(changed);
    if (sinks.size() != changed_sinks.size()) {
      return Fail(info_, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                  changed_sinks.empty() ? nullptr : changed_sinks.back());
    }
    std::vector<Pair> open;
    for (size_t i = 0; i < sinks.size(); ++i) {
      if (const CUresult error = Take({sinks[i], changed_sinks[i]}, open)) return error;
    }
    while (!open.empty()) {
      const Pair pair = open.back();
      open.pop_back();
      if (const CUresult error = MatchDependencies(pair, open)) return error;
    }
    return CUDA_SUCCESS;
  }

 private:
  CUresult Take(const Pair& pair, std::vector<Pair>& open) {
    const CUgraphExecUpdateResult result = Compare(pair.node->content, pair.changed->content);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return Fail(info_, result, pair.changed);
    partner_[pair.node] = pair.changed;
    used_.insert(pair.changed);
    pairs_.push_back(pair);
    open.push_back(pair);
    const auto &children = pair.node->content.children, &changed = pair.changed->content.children;
    for (size_t i = 0; i < children.size(); ++i) {
      if (const CUresult error = Pairing(pairs_, info_).Match(*children[i], *changed[i])) return error;
    }
    return CUDA_SUCCESS;
  }

  CUresult MatchDependencies(const Pair& pair, std::vector<Pair>& open) {
    const auto &edges = pair.node->dependencies, &changed_edges = pair.changed->dependencies;
    if (edges.size() != changed_edges.size())
      return Fail(info_, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, pair.changed);
    for (size_t i = 0; i < edges.size(); ++i) {
      const GraphNode* const from = changed_edges[i].node;
      const auto partner = partner_.find(edges[i].node);
      if (partner != partner_.end() ? partner->second != from : used_.contains(from)) {
        return Fail(info_, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, pair.changed, from);
      }
      if (partner != partner_.end()) continue;
      if (const CUresult error = Take({edges[i].node, from}, open)) return error;
    }
    return CUDA_SUCCESS;
  }

  std::vector<Pair>& pairs_;
  CUgraphExecUpdateResultInfo& info_;
  std::unordered_map<const GraphNode*, const GraphNode*> partner_;
  std::unordered_set<const GraphNode*> used_;
};

// The nodes of graphs within are pairs of their own. Kernels set the conditions whose handles they receive,
// so those change too.
void Replace(const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    NodeContent& content = pair.node->content;
    const NodeContent& changed = pair.changed->content;
    if (content.children.empty()) {
      content = changed;
      continue;
    }
    content.condition = changed.condition;
    if (content.type() == CU_GRAPH_NODE_TYPE_CONDITIONAL)
      content.params.conditional.handle = changed.params.conditional.handle;
    for (size_t i = 0; i < content.children.size(); ++i)
      content.children[i]->conditions = changed.children[i]->conditions;
  }
}

}  // namespace

CUresult GraphExec::SetParams(CUgraphNode handle, CUgraphNodeParams params) {
  GraphNode* const node = Find(handle);
  if (node == nullptr || node->type() != params.type) return CUDA_ERROR_INVALID_VALUE;
  if (params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params.type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
      params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (params.type == CU_GRAPH_NODE_TYPE_GRAPH) {
    const Graph* const graph = From<Graph>(params.graph.graph);
    CUgraphExecUpdateResultInfo info;
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : UpdateChild(*node, *graph, info);
  }
  NodeContent content;
  if (const CUresult error = MakeContent(params, node->content.attributes, content)) return error;
  if (Compare(node->content, content) != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  node->content = std::move(content);
  Changed();
  return CUDA_SUCCESS;
}

CUresult GraphExec::Update(const Graph& graph, CUgraphExecUpdateResultInfo& info) {
  std::vector<Pair> pairs;
  if (const CUresult error = Pairing(pairs, info).Match(*graph_, graph)) return error;
  Replace(pairs);
  graph_->user_objects = graph.user_objects;
  graph_->conditions = graph.conditions;
  Changed();
  info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
  return CUDA_SUCCESS;
}

CUresult GraphExec::UpdateChild(GraphNode& node, const Graph& graph, CUgraphExecUpdateResultInfo& info) {
  std::vector<Pair> pairs;
  if (Pairing(pairs, info).Match(*node.content.children.front(), graph) != CUDA_SUCCESS)
    return CUDA_ERROR_INVALID_VALUE;
  Replace(pairs);
  Changed();
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
