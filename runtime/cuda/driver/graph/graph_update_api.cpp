// The functions that change an executable graph.
#include <unordered_set>

#include "runtime/cuda/driver/graph/graph_exec.h"
#include "runtime/cuda/driver/graph/node_params.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

bool CanBeDisabled(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMSET ||
         type == CU_GRAPH_NODE_TYPE_MEMCPY;
}

CUresult SetExecParams(CUgraphExec handle, CUgraphNode node, const CUgraphNodeParams& params) {
  GraphExec* const exec = From<GraphExec>(handle);
  return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : exec->SetParams(node, params);
}

}  // namespace

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo* resultInfo) {
  GraphExec* const exec = From<GraphExec>(hGraphExec);
  const Graph* const graph = From<Graph>(hGraph);
  if (exec == nullptr || graph == nullptr || resultInfo == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return exec->Update(*graph, *resultInfo);
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                           CUgraphExecUpdateResult* updateResult_out) {
  CUgraphExecUpdateResultInfo info{CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  const CUresult result = cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  if (hErrorNode_out != nullptr) *hErrorNode_out = info.errorNode;
  if (updateResult_out != nullptr) *updateResult_out = info.result;
  return result;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : SetExecParams(hGraphExec, hNode, ParamsOf(*nodeParams));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : SetExecParams(hGraphExec, hNode, ParamsOf(*nodeParams));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  return copyParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : SetExecParams(hGraphExec, hNode, ParamsOf(*copyParams, ctx));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
  return memsetParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                                 : SetExecParams(hGraphExec, hNode, ParamsOf(*memsetParams, ctx));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : SetExecParams(hGraphExec, hNode, ParamsOf(*nodeParams));
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : SetExecParams(hGraphExec, hNode, ParamsOf(*nodeParams));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = childGraph;
  return SetExecParams(hGraphExec, hNode, params);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return SetExecParams(hGraphExec, hNode, EventParams(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event));
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return SetExecParams(hGraphExec, hNode, EventParams(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE : SetExecParams(hGraphExec, hNode, *nodeParams);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
  GraphExec* const exec = From<GraphExec>(hGraphExec);
  GraphNode* const node = exec == nullptr ? nullptr : exec->Find(hNode);
  if (node == nullptr || !CanBeDisabled(node->type())) return CUDA_ERROR_INVALID_VALUE;
  node->enabled = isEnabled != 0;
  exec->Changed();
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled) {
  const GraphExec* const exec = From<GraphExec>(hGraphExec);
  const GraphNode* const node = exec == nullptr ? nullptr : exec->Find(hNode);
  if (node == nullptr || isEnabled == nullptr || !CanBeDisabled(node->type()))
    return CUDA_ERROR_INVALID_VALUE;
  *isEnabled = node->enabled;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
