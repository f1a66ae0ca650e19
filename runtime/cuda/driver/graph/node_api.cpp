// Nodes: adding them, their parameters.
#include <algorithm>

#include "runtime/cuda/driver/graph/graph.h"
#include "runtime/cuda/driver/graph/node_params.h"
#include "runtime/cuda/driver/stream/event.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

CUresult Add(CUgraphNode* result, CUgraph handle, const CUgraphNode* dependencies,
             const CUgraphEdgeData* data, size_t count, CUgraphNodeParams& params) {
  Graph* const graph = From<Graph>(handle);
  if (result == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphEdge> edges;
  if (const CUresult error = EdgesOf(*graph, dependencies, data, count, edges)) return error;
  NodeContent content;
  const CUresult error =
      params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? MakeConditional(*graph, params, content)
      : params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? MakeAllocation(*graph, edges, params, content)
                                                    : MakeContent(params, {}, content);
  if (error != CUDA_SUCCESS) return error;
  *result = HandleOf(&graph->Add(std::move(content), edges));
  return CUDA_SUCCESS;
}
CUresult Add(CUgraphNode* result, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             CUgraphNodeParams params) {
  return Add(result, graph, dependencies, nullptr, count, params);
}

CUresult SetParams(CUgraphNode handle, CUgraphNodeParams params) {
  GraphNode* const node = From<GraphNode>(handle);
  if (node == nullptr || node->type() != params.type) return CUDA_ERROR_INVALID_VALUE;
  if (params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params.type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
      params.type == CU_GRAPH_NODE_TYPE_GRAPH || params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return MakeContent(params, node->content.attributes, node->content);
}

// The parameters of a node of that type; null: it is none.
const CUgraphNodeParams* Get(CUgraphNode handle, CUgraphNodeType type) {
  const GraphNode* const node = From<GraphNode>(handle);
  return node == nullptr || node->type() != type ? nullptr : &node->content.params;
}

// Writes what `of` takes from the parameters of a node of this type.
template <typename Out, typename Of>
CUresult Report(CUgraphNode handle, CUgraphNodeType type, Out* out, Of&& of) {
  const CUgraphNodeParams* const params = Get(handle, type);
  if (params == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = of(*params);
  return CUDA_SUCCESS;
}

bool IsKernelAttribute(CUkernelNodeAttrID attr) {
  return attr == CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
         attr == CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE || attr == CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION ||
         attr == CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE ||
         attr == CU_KERNEL_NODE_ATTRIBUTE_PRIORITY || attr == CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
         attr == CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN ||
         attr == CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
}

// The attributes decide what the work is.
CUresult SetAttributes(GraphNode& node, KernelAttributes attributes) {
  CUgraphNodeParams params = node.content.params;
  return MakeContent(params, attributes, node.content);
}

}  // namespace

CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, ParamsOf(*nodeParams));
}
CUresult cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, ParamsOf(*nodeParams));
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, ParamsOf(*copyParams, ctx));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS* memsetParams,
                              CUcontext ctx) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, ParamsOf(*memsetParams, ctx));
}
CUresult cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                            size_t numDependencies, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, ParamsOf(*nodeParams));
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                  size_t numDependencies, CUgraph childGraph) {
  CUgraphNodeParams params = ParamsOf(CU_GRAPH_NODE_TYPE_GRAPH);
  params.graph.graph = childGraph;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, params);
}
CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                             size_t numDependencies) {
  return Add(phGraphNode, hGraph, dependencies, numDependencies, ParamsOf(CU_GRAPH_NODE_TYPE_EMPTY));
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                   size_t numDependencies, CUevent event) {
  return Add(phGraphNode, hGraph, dependencies, numDependencies,
             EventParams(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, CUevent event) {
  return Add(phGraphNode, hGraph, dependencies, numDependencies,
             EventParams(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event));
}
CUresult cuGraphAddBatchMemOpNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                  size_t numDependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, ParamsOf(*nodeParams));
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams params = ParamsOf(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  params.alloc = {nodeParams->poolProps, nodeParams->accessDescs, nodeParams->accessDescCount,
                  nodeParams->bytesize, 0};
  const CUresult result = Add(phGraphNode, hGraph, dependencies, nullptr, numDependencies, params);
  nodeParams->dptr = params.alloc.dptr;
  return result;
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                               size_t numDependencies, CUdeviceptr dptr) {
  CUgraphNodeParams params = ParamsOf(CU_GRAPH_NODE_TYPE_MEM_FREE);
  params.free.dptr = dptr;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, params);
}
CUresult cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* dependencyData, size_t numDependencies,
                           CUgraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, *nodeParams);
}
CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                        size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, nullptr, numDependencies, nodeParams);
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  const GraphNode* const node = From<GraphNode>(hNode);
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type();
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, [](const CUgraphNodeParams& node) {
    const auto& k = node.kernel;
    return CUDA_KERNEL_NODE_PARAMS{k.func,         k.gridDimX,  k.gridDimY,  k.gridDimZ,
                                   k.blockDimX,    k.blockDimY, k.blockDimZ, k.sharedMemBytes,
                                   k.kernelParams, k.extra,     k.kern,      k.ctx};
  });
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams, [](const CUgraphNodeParams& node) {
    const auto& k = node.kernel;
    return CUDA_KERNEL_NODE_PARAMS_v1{k.func,      k.gridDimX,  k.gridDimY,       k.gridDimZ,     k.blockDimX,
                                      k.blockDimY, k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra};
  });
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, nodeParams,
                [](const CUgraphNodeParams& node) { return node.memcpy.copyParams; });
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_MEMSET, nodeParams, [](const CUgraphNodeParams& node) {
    const auto& fill = node.memset;
    return CUDA_MEMSET_NODE_PARAMS{fill.dst,         fill.pitch, fill.value,
                                   fill.elementSize, fill.width, fill.height};
  });
}
CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams, [](const CUgraphNodeParams& node) {
    return CUDA_HOST_NODE_PARAMS{node.host.fn, node.host.userData};
  });
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_GRAPH, phGraph,
                [](const CUgraphNodeParams& node) { return node.graph.graph; });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out,
                [](const CUgraphNodeParams& node) { return node.eventRecord.event; });
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out,
                [](const CUgraphNodeParams& node) { return node.eventWait.event; });
}
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams_out) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, nodeParams_out, [](const CUgraphNodeParams& node) {
    return CUDA_BATCH_MEM_OP_NODE_PARAMS{node.memOp.ctx, node.memOp.count, node.memOp.paramArray,
                                         node.memOp.flags};
  });
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out, [](const CUgraphNodeParams& node) {
    const auto& alloc = node.alloc;
    return CUDA_MEM_ALLOC_NODE_PARAMS{alloc.poolProps, alloc.accessDescs, alloc.accessDescCount,
                                      alloc.bytesize, alloc.dptr};
  });
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
  return Report(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, dptr_out,
                [](const CUgraphNodeParams& node) { return node.free.dptr; });
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : SetParams(hNode, ParamsOf(*nodeParams));
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : SetParams(hNode, ParamsOf(*nodeParams));
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  const CUgraphNodeParams* const before = Get(hNode, CU_GRAPH_NODE_TYPE_MEMCPY);
  if (before == nullptr || nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetParams(hNode, ParamsOf(*nodeParams, before->memcpy.copyCtx));
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  const CUgraphNodeParams* const before = Get(hNode, CU_GRAPH_NODE_TYPE_MEMSET);
  if (before == nullptr || nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetParams(hNode, ParamsOf(*nodeParams, before->memset.ctx));
}
CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : SetParams(hNode, ParamsOf(*nodeParams));
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return SetParams(hNode, EventParams(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event));
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return SetParams(hNode, EventParams(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event));
}
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode hNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : SetParams(hNode, ParamsOf(*nodeParams));
}
CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : SetParams(hNode, *nodeParams);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue* value_out) {
  if (Get(hNode, CU_GRAPH_NODE_TYPE_KERNEL) == nullptr || value_out == nullptr || !IsKernelAttribute(attr))
    return CUDA_ERROR_INVALID_VALUE;
  const KernelAttributes& attributes = From<GraphNode>(hNode)->content.attributes;
  const auto found = attributes.find(attr);
  *value_out = found == attributes.end() ? CUkernelNodeAttrValue{} : found->second;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue* value) {
  if (Get(hNode, CU_GRAPH_NODE_TYPE_KERNEL) == nullptr || value == nullptr || !IsKernelAttribute(attr))
    return CUDA_ERROR_INVALID_VALUE;
  GraphNode& node = *From<GraphNode>(hNode);
  KernelAttributes attributes = node.content.attributes;
  attributes[attr] = *value;
  return SetAttributes(node, std::move(attributes));
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  const bool kernels =
      Get(dst, CU_GRAPH_NODE_TYPE_KERNEL) != nullptr && Get(src, CU_GRAPH_NODE_TYPE_KERNEL) != nullptr;
  return kernels ? SetAttributes(*From<GraphNode>(dst), From<GraphNode>(src)->content.attributes)
                 : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace ptx2cpu::driver
