// Graphs: creation, queries, instantiation, launches; user objects.
#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/node_params.h"

namespace ptx2cpu::cudart {

cudaError_t cudaGraphCreate(cudaGraph_t* pGraph, unsigned int flags) {
  return InDriver(&driver::cuGraphCreate, pGraph, flags);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return InDriver(&driver::cuGraphDestroy, graph); }

cudaError_t cudaGraphClone(cudaGraph_t* pGraphClone, cudaGraph_t originalGraph) {
  return InDriver(&driver::cuGraphClone, pGraphClone, originalGraph);
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* pNode, cudaGraphNode_t originalNode,
                                     cudaGraph_t clonedGraph) {
  return InDriver(&driver::cuGraphNodeFindInClone, pNode, originalNode, clonedGraph);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* pType) {
  return InDriver(&driver::cuGraphNodeGetType, node, Twin<CUgraphNodeType>(pType));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  return InDriver(&driver::cuGraphGetNodes, graph, nodes, numNodes);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* pRootNodes, size_t* pNumRootNodes) {
  return InDriver(&driver::cuGraphGetRootNodes, graph, pRootNodes, pNumRootNodes);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              size_t* numEdges) {
  return InDriver(&driver::cuGraphGetEdges, graph, from, to, numEdges);
}

cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                 cudaGraphEdgeData* edgeData, size_t* numEdges) {
  return InDriver(&driver::cuGraphGetEdges_v2, graph, from, to, Twin<CUgraphEdgeData>(edgeData), numEdges);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edgeData, size_t* numEdges) {
  return cudaGraphGetEdges_v2(graph, from, to, edgeData, numEdges);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* pDependencies,
                                         size_t* pNumDependencies) {
  return InDriver(&driver::cuGraphNodeGetDependencies, node, pDependencies, pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* pDependencies,
                                            cudaGraphEdgeData* edgeData, size_t* pNumDependencies) {
  return InDriver(&driver::cuGraphNodeGetDependencies_v2, node, pDependencies,
                  Twin<CUgraphEdgeData>(edgeData), pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* pDependencies,
                                         cudaGraphEdgeData* edgeData, size_t* pNumDependencies) {
  return cudaGraphNodeGetDependencies_v2(node, pDependencies, edgeData, pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* pDependentNodes,
                                           size_t* pNumDependentNodes) {
  return InDriver(&driver::cuGraphNodeGetDependentNodes, node, pDependentNodes, pNumDependentNodes);
}

cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t* pDependentNodes,
                                              cudaGraphEdgeData* edgeData, size_t* pNumDependentNodes) {
  return InDriver(&driver::cuGraphNodeGetDependentNodes_v2, node, pDependentNodes,
                  Twin<CUgraphEdgeData>(edgeData), pNumDependentNodes);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* pDependentNodes,
                                           cudaGraphEdgeData* edgeData, size_t* pNumDependentNodes) {
  return cudaGraphNodeGetDependentNodes_v2(node, pDependentNodes, edgeData, pNumDependentNodes);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t numDependencies) {
  return InDriver(&driver::cuGraphAddDependencies, graph, from, to, numDependencies);
}

cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* edgeData,
                                        size_t numDependencies) {
  return InDriver(&driver::cuGraphAddDependencies_v2, graph, from, to, Twin<const CUgraphEdgeData>(edgeData),
                  numDependencies);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* edgeData,
                                     size_t numDependencies) {
  return cudaGraphAddDependencies_v2(graph, from, to, edgeData, numDependencies);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, size_t numDependencies) {
  return InDriver(&driver::cuGraphRemoveDependencies, graph, from, to, numDependencies);
}

cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                           const cudaGraphNode_t* to, const cudaGraphEdgeData* edgeData,
                                           size_t numDependencies) {
  return InDriver(&driver::cuGraphRemoveDependencies_v2, graph, from, to,
                  Twin<const CUgraphEdgeData>(edgeData), numDependencies);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* edgeData,
                                        size_t numDependencies) {
  return cudaGraphRemoveDependencies_v2(graph, from, to, edgeData, numDependencies);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) { return InDriver(&driver::cuGraphDestroyNode, node); }

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
  return InDriver(&driver::cuGraphDebugDotPrint, graph, path, flags);
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* pHandle_out, cudaGraph_t graph,
                                             unsigned int defaultLaunchValue, unsigned int flags) {
  CUcontext context;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  return FromDriver(driver::cuGraphConditionalHandleCreate(Twin<CUgraphConditionalHandle>(pHandle_out), graph,
                                                           context, defaultLaunchValue, flags));
}

// Execution contexts cannot be made here, so only null names one.
cudaError_t cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle* pHandle_out, cudaGraph_t graph,
                                                cudaExecutionContext_t ctx, unsigned int defaultLaunchValue,
                                                unsigned int flags) {
  if (ctx != nullptr) return cudaErrorInvalidResourceHandle;
  return cudaGraphConditionalHandleCreate(pHandle_out, graph, defaultLaunchValue, flags);
}

// Instantiation

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, cudaGraphNode_t* pErrorNode,
                                 char* pLogBuffer, size_t bufferSize) {
  return InContext(&driver::cuGraphInstantiate_v2, pGraphExec, graph, pErrorNode, pLogBuffer, bufferSize);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return InContext(&driver::cuGraphInstantiateWithFlags, pGraphExec, graph, flags);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(pGraphExec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* instantiateParams) {
  return InContext(&driver::cuGraphInstantiateWithParams, pGraphExec, graph,
                   Twin<CUDA_GRAPH_INSTANTIATE_PARAMS>(instantiateParams));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long* flags) {
  return InDriver(&driver::cuGraphExecGetFlags, graphExec, Twin<cuuint64_t>(flags));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphNode_t* hErrorNode_out,
                                cudaGraphExecUpdateResult* updateResult_out) {
  return InContext(&driver::cuGraphExecUpdate, hGraphExec, hGraph, hErrorNode_out,
                   Twin<CUgraphExecUpdateResult>(updateResult_out));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                cudaGraphExecUpdateResultInfo* resultInfo) {
  return InContext(&driver::cuGraphExecUpdate_v2, hGraphExec, hGraph,
                   Twin<CUgraphExecUpdateResultInfo>(resultInfo));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  return InDriver(&driver::cuGraphExecDestroy, graphExec);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return InContext(&driver::cuGraphUpload, graphExec, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return InContext(&driver::cuGraphLaunch, graphExec, stream);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                    unsigned int isEnabled) {
  return InDriver(&driver::cuGraphNodeSetEnabled, hGraphExec, hNode, isEnabled);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                    unsigned int* isEnabled) {
  return InDriver(&driver::cuGraphNodeGetEnabled, hGraphExec, hNode, isEnabled);
}

// User objects

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object_out, void* ptr, cudaHostFn_t destroy,
                                 unsigned int initialRefcount, unsigned int flags) {
  return InDriver(&driver::cuUserObjectCreate, object_out, ptr, destroy, initialRefcount, flags);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  return InDriver(&driver::cuUserObjectRetain, object, count);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  return InDriver(&driver::cuUserObjectRelease, object, count);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags) {
  return InDriver(&driver::cuGraphRetainUserObject, graph, object, count, flags);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
  return InDriver(&driver::cuGraphReleaseUserObject, graph, object, count);
}

}  // namespace ptx2cpu::cudart
