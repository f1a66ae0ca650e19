#include "runtime/cuda/driver/graph/graph.h"

#include <algorithm>
#include <atomic>
#include <queue>
#include <unordered_map>

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

uint64_t NextNodeId() {
  static std::atomic<uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Programmatic edges are between kernels.
bool IsLegal(const CUgraphEdgeData& data, const GraphNode& from, const GraphNode& to) {
  if (data.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT) return true;
  return from.type() == CU_GRAPH_NODE_TYPE_KERNEL && to.type() == CU_GRAPH_NODE_TYPE_KERNEL;
}

bool IsMemory(const GraphNode& node) {
  return node.type() == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node.type() == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

void Erase(std::vector<GraphEdge>& edges, const GraphNode* node) {
  std::erase_if(edges, [&](const GraphEdge& edge) { return edge.node == node; });
}

}  // namespace

bool IsPlain(const CUgraphEdgeData& data) {
  return data.from_port == 0 && data.to_port == 0 && data.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
}

GraphNode::GraphNode(Graph& graph, NodeContent content, uint64_t origin)
    : content(std::move(content)), graph_(graph), id_(NextNodeId()), origin_(origin) {
  Handles::Get().Add(this, kKind);
}

GraphNode::~GraphNode() { Handles::Get().Remove(this, kKind); }

Graph::Graph() { Handles::Get().Add(this, kKind); }
Graph::~Graph() { Handles::Get().Remove(this, kKind); }

GraphNode& Graph::Add(NodeContent content, std::span<const GraphEdge> dependencies, uint64_t origin) {
  nodes_.push_back(std::make_unique<GraphNode>(*this, std::move(content), origin));
  GraphNode& node = *nodes_.back();
  for (const GraphEdge& edge : dependencies)
    AddEdge(*edge.node, node, edge.data);  // one that is named twice is one
  return node;
}

void Graph::Remove(GraphNode& node) {
  for (const GraphEdge& edge : node.dependencies) Erase(edge.node->dependents, &node);
  for (const GraphEdge& edge : node.dependents) Erase(edge.node->dependencies, &node);
  std::erase_if(nodes_, [&](const auto& owned) { return owned.get() == &node; });
}

CUresult Graph::AddEdge(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data) {
  if (&from == &to || !IsLegal(data, from, to)) return CUDA_ERROR_INVALID_VALUE;
  const auto is_from = [&](const GraphEdge& edge) { return edge.node == &from; };
  if (std::ranges::any_of(to.dependencies, is_from)) return CUDA_ERROR_INVALID_VALUE;
  to.dependencies.push_back({&from, data});
  from.dependents.push_back({&to, data});
  return CUDA_SUCCESS;
}

CUresult Graph::RemoveEdge(GraphNode& from, GraphNode& to, const CUgraphEdgeData* data) {
  if (IsMemory(from) || IsMemory(to)) return CUDA_ERROR_NOT_SUPPORTED;
  const auto edge =
      std::ranges::find_if(to.dependencies, [&](const GraphEdge& e) { return e.node == &from; });
  if (edge == to.dependencies.end()) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphEdgeData plain{};
  const CUgraphEdgeData& wanted = data != nullptr ? *data : plain;
  if (edge->data.type != wanted.type || edge->data.from_port != wanted.from_port ||
      edge->data.to_port != wanted.to_port) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  to.dependencies.erase(edge);
  Erase(from.dependents, &to);
  return CUDA_SUCCESS;
}

std::optional<std::vector<GraphNode*>> Graph::Order() const {
  std::unordered_map<const GraphNode*, size_t> place, missing;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    place[nodes_[i].get()] = i;
    missing[nodes_[i].get()] = nodes_[i]->dependencies.size();
    if (nodes_[i]->dependencies.empty()) ready.push(i);
  }
  std::vector<GraphNode*> order;
  while (!ready.empty()) {
    GraphNode* node = nodes_[ready.top()].get();
    ready.pop();
    order.push_back(node);
    for (const GraphEdge& edge : node->dependents) {
      if (--missing[edge.node] == 0) ready.push(place[edge.node]);
    }
  }
  if (order.size() != nodes_.size()) return std::nullopt;
  return order;
}

std::unique_ptr<Graph> Graph::Clone() const {
  auto clone = std::make_unique<Graph>();
  clone->user_objects = user_objects;
  clone->conditions = conditions;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : nodes_) {
    NodeContent content = node->content;
    for (std::shared_ptr<Graph>& child : content.children) {
      child = child->Clone();
      child->inner = true;
      if (node->type() == CU_GRAPH_NODE_TYPE_CONDITIONAL) child->around = clone.get();
    }
    NameChildren(content);
    copies[node.get()] = &clone->Add(std::move(content), {}, node->id());
    copies[node.get()]->enabled = node->enabled;
  }
  for (const auto& node : nodes_) {  // both lists in their own order
    GraphNode& copy = *copies[node.get()];
    for (const GraphEdge& edge : node->dependencies)
      copy.dependencies.push_back({copies[edge.node], edge.data});
    for (const GraphEdge& edge : node->dependents) copy.dependents.push_back({copies[edge.node], edge.data});
  }
  return clone;
}

GraphNode* Graph::FindCopy(uint64_t origin) const {
  for (const auto& node : nodes_) {
    if (node->origin() == origin) return node.get();
    for (const auto& child : node->content.children) {
      if (GraphNode* inner_node = child->FindCopy(origin)) return inner_node;
    }
  }
  return nullptr;
}

bool Graph::IsUnique() const {
  return std::ranges::any_of(nodes_, [](const auto& node) {
    return IsMemory(*node) || node->type() == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
           std::ranges::any_of(node->content.children, [](const auto& child) { return child->IsUnique(); });
  });
}

bool Graph::HasConditionalNodes() const {
  return std::ranges::any_of(nodes_, [](const auto& node) {
    return node->type() == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
           std::ranges::any_of(node->content.children,
                               [](const auto& child) { return child->HasConditionalNodes(); });
  });
}

void NameChildren(NodeContent& content) {
  if (content.type() == CU_GRAPH_NODE_TYPE_GRAPH)
    content.params.graph.graph = HandleOf(content.children.front().get());
  if (content.type() != CU_GRAPH_NODE_TYPE_CONDITIONAL) return;
  auto handles = std::make_shared<std::vector<CUgraph>>();
  for (const auto& child : content.children) handles->push_back(HandleOf(child.get()));
  content.params.conditional.phGraph_out = handles->data();
  content.storage = handles;
}

// Walking back from a node that is not in the order, along dependencies that are not either, stays in a
// cycle at last.
const GraphNode* Graph::FindCycle() const {
  std::unordered_map<const GraphNode*, size_t> missing;
  std::vector<const GraphNode*> done;
  for (const auto& node : nodes_) {
    if ((missing[node.get()] = node->dependencies.size()) == 0) done.push_back(node.get());
  }
  for (size_t i = 0; i < done.size(); ++i) {
    for (const GraphEdge& edge : done[i]->dependents) {
      if (--missing[edge.node] == 0) done.push_back(edge.node);
    }
  }
  const auto left = std::ranges::find_if(nodes_, [&](const auto& node) { return missing[node.get()] != 0; });
  if (left == nodes_.end()) return nullptr;
  const GraphNode* node = left->get();
  for (size_t steps = 0; steps < nodes_.size(); ++steps) {
    node = std::ranges::find_if(node->dependencies, [&](const GraphEdge& edge) {
             return missing[edge.node] != 0;
           })->node;
  }
  return node;
}

CUresult EdgesOf(const Graph& graph, const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count,
                 std::vector<GraphEdge>& edges) {
  if (count != 0 && nodes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphEdge> found;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = From<GraphNode>(nodes[i]);
    if (node == nullptr || &node->graph() != &graph) return CUDA_ERROR_INVALID_VALUE;
    const auto is_node = [&](const GraphEdge& edge) { return edge.node == node; };
    if (std::ranges::any_of(found, is_node)) return CUDA_ERROR_INVALID_VALUE;
    found.push_back({node, data != nullptr ? data[i] : CUgraphEdgeData{}});
  }
  edges = std::move(found);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
