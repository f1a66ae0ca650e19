// Graphs as programs build them: nodes, the work of each, and their dependencies.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"
#include "runtime/cuda/driver/stream/capture.h"
#include "runtime/device/condition.h"
#include "runtime/stream/work.h"

namespace ptx2cpu::driver {

class Graph;
class UserObject;

bool IsPlain(const cuda::CUgraphEdgeData& data);

using KernelAttributes = std::map<cuda::CUlaunchAttributeID, cuda::CUlaunchAttributeValue>;

// The work of a node.
struct NodeContent {
  cuda::CUgraphNodeParams params{};  // as GetParams returns them; what they point to is in `storage`
  std::vector<rt::Work> works;       // in order; events and graphs within are seen to at instantiation
  std::shared_ptr<const void> storage;
  std::vector<std::shared_ptr<Graph>> children;  // the child graph, the bodies of a conditional node
  std::shared_ptr<rt::Condition> condition;      // of conditional nodes
  KernelAttributes attributes;                   // of kernel nodes

  cuda::CUgraphNodeType type() const { return params.type; }
};

// Makes the content from the parameters of any kind of node, as cuGraphAddNode takes them; on failure
// `content` stays as it was. Allocation nodes write the address into `params`.
cuda::CUresult MakeContent(cuda::CUgraphNodeParams& params, const KernelAttributes& attributes,
                           NodeContent& content);
// Makes the content of a conditional node, with empty bodies; its handle must be of `graph` or of a graph
// around it.
cuda::CUresult MakeConditional(Graph& graph, cuda::CUgraphNodeParams& params, NodeContent& content);
// Makes the content of an allocation node after these nodes, at the address of memory of the same size that
// one of them has freed, where there is some.
cuda::CUresult MakeAllocation(const Graph& graph, std::span<const GraphEdge> dependencies,
                              cuda::CUgraphNodeParams& params, NodeContent& content);
// The graphs within a node are new: handles that its parameters name are theirs.
void NameChildren(NodeContent& content);
// Makes the content of work that was submitted to a captured stream.
cuda::CUresult CapturedContent(const cuda::CUgraphNodeParams& params, rt::Work work, NodeContent& content);

class GraphNode {
 public:
  using Handle = cuda::CUgraphNode;
  static constexpr HandleKind kKind = HandleKind::kGraphNode;

  GraphNode(Graph& graph, NodeContent content, uint64_t origin);
  ~GraphNode();
  GraphNode(const GraphNode&) = delete;
  GraphNode& operator=(const GraphNode&) = delete;

  Graph& graph() const { return graph_; }
  uint64_t id() const { return id_; }
  uint64_t origin() const { return origin_; }  // id of the node that this one is a copy of; 0: of none
  cuda::CUgraphNodeType type() const { return content.type(); }

  NodeContent content;
  std::vector<GraphEdge> dependencies, dependents;
  bool enabled = true;  // in executable graphs

 private:
  Graph& graph_;
  const uint64_t id_, origin_;
};

// A condition, which a program makes by cuGraphConditionalHandleCreate.
struct GraphCondition {
  std::shared_ptr<rt::Condition> condition;
  uint32_t default_value = 0;
  bool assign_default = false;  // at the beginning of each launch
};

class Graph {
 public:
  using Handle = cuda::CUgraph;
  static constexpr HandleKind kKind = HandleKind::kGraph;

  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return nodes_; }
  GraphNode& Add(NodeContent content, std::span<const GraphEdge> dependencies, uint64_t origin = 0);
  void Remove(GraphNode& node);
  // INVALID_VALUE: the edge already exists, does not exist, or is from a node to itself.
  cuda::CUresult AddEdge(GraphNode& from, GraphNode& to, const cuda::CUgraphEdgeData& data);
  cuda::CUresult RemoveEdge(GraphNode& from, GraphNode& to, const cuda::CUgraphEdgeData* data);
  // Each node after its dependencies, otherwise in the order of creation. Nothing: there is a cycle.
  std::optional<std::vector<GraphNode*>> Order() const;
  // Copies everything, including child graphs; nodes record the nodes that they are copies of.
  std::unique_ptr<Graph> Clone() const;
  // The copy of a node here or in a child graph.
  GraphNode* FindCopy(uint64_t origin) const;
  // It has memory or conditional nodes: it cannot be copied, and only one executable graph may exist of it.
  bool IsUnique() const;
  bool HasConditionalNodes() const;
  // A node of a cycle; null: there is none.
  const GraphNode* FindCycle() const;

  // Not the program's to destroy: inside a child graph node, an executable graph or a capture.
  bool inner = false;
  const Graph* around = nullptr;  // the graph whose conditional node has this as a body
  std::vector<GraphCondition> conditions;
  mutable std::weak_ptr<const void> sole_user;                   // the executable graph of one that IsUnique
  std::map<std::shared_ptr<UserObject>, unsigned> user_objects;  // with references

 private:
  std::vector<std::unique_ptr<GraphNode>> nodes_;
};

// Nodes and edges from the arguments of API functions. INVALID_VALUE: not all are nodes of this graph.
cuda::CUresult EdgesOf(const Graph& graph, const cuda::CUgraphNode* nodes, const cuda::CUgraphEdgeData* data,
                       size_t count, std::vector<GraphEdge>& edges);

}  // namespace ptx2cpu::driver
