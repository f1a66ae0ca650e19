// Nodes of graphs: adding them, reading and changing their parameters, also in an instantiated graph.
#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/launch_attribute.h"
#include "runtime/cuda/cudart/node_params.h"

namespace ptx2cpu::cudart {

// Kernel nodes

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                   const cudaKernelNodeParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_KERNEL_NODE_PARAMS params;
  if (const cudaError_t error = FromKernelNode(*pNodeParams, params)) return error;
  return FromDriver(
      driver::cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, &params));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_KERNEL_NODE_PARAMS params;
  if (const cudaError_t error = InDriver(&driver::cuGraphKernelNodeGetParams_v2, node, &params)) return error;
  ToKernelNode(params, *pNodeParams);
  return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_KERNEL_NODE_PARAMS params;
  if (const cudaError_t error = FromKernelNode(*pNodeParams, params)) return error;
  return FromDriver(driver::cuGraphKernelNodeSetParams_v2(node, &params));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_KERNEL_NODE_PARAMS params;
  if (const cudaError_t error = FromKernelNode(*pNodeParams, params)) return error;
  return FromDriver(driver::cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &params));
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc) {
  return InDriver(&driver::cuGraphKernelNodeCopyAttributes, hDst, hSrc);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                            cudaLaunchAttributeValue* value_out) {
  return GetAttribute(attr, value_out, [&](CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
    return InDriver(&driver::cuGraphKernelNodeGetAttribute, hNode, id, value);
  });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                            const cudaLaunchAttributeValue* value) {
  return SetAttribute(attr, value, [&](CUlaunchAttributeID id, const CUlaunchAttributeValue* from) {
    return InDriver(&driver::cuGraphKernelNodeSetAttribute, hNode, id, from);
  });
}

// Memset nodes

namespace {

CUDA_MEMSET_NODE_PARAMS FillOf(const cudaMemsetParams& params) {
  return {Address(params.dst), params.pitch, params.value, params.elementSize, params.width, params.height};
}

}  // namespace

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                   const cudaMemsetParams* pMemsetParams) {
  if (pMemsetParams == nullptr) return cudaErrorInvalidValue;
  CUcontext context;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  const CUDA_MEMSET_NODE_PARAMS fill = FillOf(*pMemsetParams);
  return FromDriver(
      driver::cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies, &fill, context));
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMSET_NODE_PARAMS fill;
  if (const cudaError_t error = InDriver(&driver::cuGraphMemsetNodeGetParams, node, &fill)) return error;
  *pNodeParams = {
      reinterpret_cast<void*>(fill.dst), fill.pitch, fill.value, fill.elementSize, fill.width, fill.height};
  return cudaSuccess;
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  const CUDA_MEMSET_NODE_PARAMS fill = FillOf(*pNodeParams);
  return InDriver(&driver::cuGraphMemsetNodeSetParams, node, &fill);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaMemsetParams* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUcontext context;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  const CUDA_MEMSET_NODE_PARAMS fill = FillOf(*pNodeParams);
  return FromDriver(driver::cuGraphExecMemsetNodeSetParams(hGraphExec, node, &fill, context));
}

// Host nodes

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                 const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                 const cudaHostNodeParams* pNodeParams) {
  return InDriver(&driver::cuGraphAddHostNode, pGraphNode, graph, pDependencies, numDependencies,
                  Twin<const CUDA_HOST_NODE_PARAMS>(pNodeParams));
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* pNodeParams) {
  return InDriver(&driver::cuGraphHostNodeGetParams, node, Twin<CUDA_HOST_NODE_PARAMS>(pNodeParams));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* pNodeParams) {
  return InDriver(&driver::cuGraphHostNodeSetParams, node, Twin<const CUDA_HOST_NODE_PARAMS>(pNodeParams));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* pNodeParams) {
  return InDriver(&driver::cuGraphExecHostNodeSetParams, hGraphExec, node,
                  Twin<const CUDA_HOST_NODE_PARAMS>(pNodeParams));
}

// Child graphs, empty nodes, events

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                       const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                       cudaGraph_t childGraph) {
  return InDriver(&driver::cuGraphAddChildGraphNode, pGraphNode, graph, pDependencies, numDependencies,
                  childGraph);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* pGraph) {
  return InDriver(&driver::cuGraphChildGraphNodeGetGraph, node, pGraph);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                 cudaGraph_t childGraph) {
  return InDriver(&driver::cuGraphExecChildGraphNodeSetParams, hGraphExec, node, childGraph);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                  const cudaGraphNode_t* pDependencies, size_t numDependencies) {
  return InDriver(&driver::cuGraphAddEmptyNode, pGraphNode, graph, pDependencies, numDependencies);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                        const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                        cudaEvent_t event) {
  return InDriver(&driver::cuGraphAddEventRecordNode, pGraphNode, graph, pDependencies, numDependencies,
                  event);
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) {
  return InDriver(&driver::cuGraphEventRecordNodeGetEvent, node, event_out);
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return InDriver(&driver::cuGraphEventRecordNodeSetEvent, node, event);
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                                 cudaEvent_t event) {
  return InDriver(&driver::cuGraphExecEventRecordNodeSetEvent, hGraphExec, hNode, event);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                      cudaEvent_t event) {
  return InDriver(&driver::cuGraphAddEventWaitNode, pGraphNode, graph, pDependencies, numDependencies, event);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event_out) {
  return InDriver(&driver::cuGraphEventWaitNodeGetEvent, node, event_out);
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return InDriver(&driver::cuGraphEventWaitNodeSetEvent, node, event);
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                               cudaEvent_t event) {
  return InDriver(&driver::cuGraphExecEventWaitNodeSetEvent, hGraphExec, hNode, event);
}

// Allocation nodes

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                     cudaMemAllocNodeParams* nodeParams) {
  return InContext(&driver::cuGraphAddMemAllocNode, pGraphNode, graph, pDependencies, numDependencies,
                   Twin<CUDA_MEM_ALLOC_NODE_PARAMS>(nodeParams));
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* params_out) {
  return InDriver(&driver::cuGraphMemAllocNodeGetParams, node, Twin<CUDA_MEM_ALLOC_NODE_PARAMS>(params_out));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                    const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                    void* dptr) {
  return InContext(&driver::cuGraphAddMemFreeNode, pGraphNode, graph, pDependencies, numDependencies,
                   Address(dptr));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* dptr_out) {
  return InDriver(&driver::cuGraphMemFreeNodeGetParams, node, static_cast<CUdeviceptr*>(dptr_out));
}

// Nodes of any kind

cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                const cudaGraphNode_t* pDependencies, const cudaGraphEdgeData* dependencyData,
                                size_t numDependencies, cudaGraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return cudaErrorInvalidValue;
  CUcontext context;
  CUgraphNodeParams params;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  if (const cudaError_t error = FromNode(*nodeParams, context, params)) return error;
  const CUresult result =
      driver::cuGraphAddNode_v2(pGraphNode, graph, pDependencies, Twin<const CUgraphEdgeData>(dependencyData),
                                numDependencies, &params);
  if (result == CUDA_SUCCESS) GiveBack(params, *nodeParams);
  return FromDriver(result);
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t* pDependencies, size_t numDependencies,
                             cudaGraphNodeParams* nodeParams) {
  return cudaGraphAddNode_v2(pGraphNode, graph, pDependencies, nullptr, numDependencies, nodeParams);
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                             const cudaGraphNode_t* pDependencies, const cudaGraphEdgeData* dependencyData,
                             size_t numDependencies, cudaGraphNodeParams* nodeParams) {
  return cudaGraphAddNode_v2(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams);
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return cudaErrorInvalidValue;
  CUcontext context;
  CUgraphNodeParams params;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  if (const cudaError_t error = FromNode(*nodeParams, context, params)) return error;
  return FromDriver(driver::cuGraphNodeSetParams(node, &params));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return cudaErrorInvalidValue;
  CUcontext context;
  CUgraphNodeParams params;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  if (const cudaError_t error = FromNode(*nodeParams, context, params)) return error;
  return FromDriver(driver::cuGraphExecNodeSetParams(graphExec, node, &params));
}

}  // namespace ptx2cpu::cudart
