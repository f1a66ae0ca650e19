// Graphs as wholes: making, copying, asking for nodes and edges, changing edges.
#include <algorithm>

#include "runtime/cuda/driver/graph/graph.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// The usual two calls: without an array, how many there are; with one, as many as fit, the rest of the array
// empty.
template <typename T>
CUresult Copy(const std::vector<T>& values, T* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out == nullptr) {
    *count = values.size();
    return CUDA_SUCCESS;
  }
  const size_t copied = std::min(*count, values.size());
  std::copy_n(values.begin(), copied, out);
  std::fill(out + copied, out + *count, T{});
  *count = copied;
  return CUDA_SUCCESS;
}

CUresult CopyEdges(const std::vector<GraphEdge>& edges, CUgraphNode* nodes, CUgraphEdgeData* data,
                   size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool plain = std::ranges::all_of(edges, [](const GraphEdge& edge) { return IsPlain(edge.data); });
  if (!plain && nodes != nullptr && data == nullptr) return CUDA_ERROR_LOSSY_QUERY;
  std::vector<CUgraphNode> handles;
  std::vector<CUgraphEdgeData> values;
  for (const GraphEdge& edge : edges) {
    handles.push_back(HandleOf(edge.node));
    values.push_back(edge.data);
  }
  size_t data_count = *count;
  if (data != nullptr && nodes != nullptr) Copy(values, data, &data_count);
  return Copy(handles, nodes, count);
}

CUresult GetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  const Graph* const graph = From<Graph>(handle);
  if (graph == nullptr || count == nullptr || (from == nullptr) != (to == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> ends;
  std::vector<GraphEdge> begins;
  for (const auto& node : graph->nodes()) {
    for (const GraphEdge& edge : node->dependencies) {
      begins.push_back(edge);
      ends.push_back(HandleOf(node.get()));
    }
  }
  size_t end_count = *count;
  if (const CUresult error = CopyEdges(begins, from, data, count)) return error;
  return Copy(ends, to, &end_count);
}

// Finds both nodes of an edge, in one graph.
CUresult FindEnds(const Graph* graph, CUgraphNode from, CUgraphNode to, GraphNode*& first,
                  GraphNode*& second) {
  first = From<GraphNode>(from);
  second = From<GraphNode>(to);
  const bool right =
      first != nullptr && second != nullptr && &first->graph() == graph && &second->graph() == graph;
  return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult AddEdges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                  size_t count) {
  Graph* const graph = From<Graph>(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *first, *second;
    if (const CUresult error = FindEnds(graph, from[i], to[i], first, second)) return error;
    if (const CUresult error = graph->AddEdge(*first, *second, data != nullptr ? data[i] : CUgraphEdgeData{}))
      return error;
  }
  return CUDA_SUCCESS;
}

CUresult RemoveEdges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                     const CUgraphEdgeData* data, size_t count) {
  Graph* const graph = From<Graph>(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *first, *second;
    if (const CUresult error = FindEnds(graph, from[i], to[i], first, second)) return error;
    if (const CUresult error = graph->RemoveEdge(*first, *second, data != nullptr ? &data[i] : nullptr))
      return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = HandleOf(new Graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  Graph* const graph = From<Graph>(hGraph);
  if (graph == nullptr || graph->inner) return CUDA_ERROR_INVALID_VALUE;
  delete graph;
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  const Graph* const graph = From<Graph>(originalGraph);
  if (phGraphClone == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (graph->IsUnique()) return CUDA_ERROR_NOT_SUPPORTED;
  *phGraphClone = HandleOf(graph->Clone().release());
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph) {
  const GraphNode* const original = From<GraphNode>(hOriginalNode);
  const Graph* const clone = From<Graph>(hClonedGraph);
  if (phNode == nullptr || original == nullptr || clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphNode* const copy = clone->FindCopy(original->id());
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phNode = HandleOf(copy);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  const Graph* const graph = From<Graph>(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> handles;
  for (const auto& node : graph->nodes()) handles.push_back(HandleOf(node.get()));
  return Copy(handles, nodes, numNodes);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  const Graph* const graph = From<Graph>(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> handles;
  for (const auto& node : graph->nodes()) {
    if (node->dependencies.empty()) handles.push_back(HandleOf(node.get()));
  }
  return Copy(handles, rootNodes, numRootNodes);
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  return GetEdges(hGraph, from, to, nullptr, numEdges);
}
CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData,
                            size_t* numEdges) {
  return GetEdges(hGraph, from, to, edgeData, numEdges);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                       CUgraphEdgeData* edgeData, size_t* numDependencies) {
  const GraphNode* const node = From<GraphNode>(hNode);
  return node == nullptr ? CUDA_ERROR_INVALID_VALUE
                         : CopyEdges(node->dependencies, dependencies, edgeData, numDependencies);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies, size_t* numDependencies) {
  return cuGraphNodeGetDependencies_v2(hNode, dependencies, nullptr, numDependencies);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                         CUgraphEdgeData* edgeData, size_t* numDependentNodes) {
  const GraphNode* const node = From<GraphNode>(hNode);
  return node == nullptr ? CUDA_ERROR_INVALID_VALUE
                         : CopyEdges(node->dependents, dependentNodes, edgeData, numDependentNodes);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                      size_t* numDependentNodes) {
  return cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, nullptr, numDependentNodes);
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t numDependencies) {
  return AddEdges(hGraph, from, to, nullptr, numDependencies);
}
CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return AddEdges(hGraph, from, to, edgeData, numDependencies);
}
CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t numDependencies) {
  return RemoveEdges(hGraph, from, to, nullptr, numDependencies);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* edgeData, size_t numDependencies) {
  return RemoveEdges(hGraph, from, to, edgeData, numDependencies);
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  GraphNode* const node = From<GraphNode>(hNode);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphNodeType type = node->type();
  if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE)
    return CUDA_ERROR_NOT_SUPPORTED;
  node->graph().Remove(*node);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
