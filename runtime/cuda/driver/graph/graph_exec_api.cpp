// Making, launching and destroying executable graphs.
#include <algorithm>

#include "runtime/cuda/driver/graph/graph_capture.h"
#include "runtime/cuda/driver/graph/graph_exec.h"

namespace ptx2cpu::driver {

using namespace cuda;

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  constexpr unsigned long long kFlags =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  const Graph* const graph = From<Graph>(hGraph);
  if (phGraphExec == nullptr || graph == nullptr || (flags & ~kFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (CheckStructure(*graph) != CUDA_GRAPH_INSTANTIATE_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  const bool unique =
      graph->IsUnique();  // its memory and conditions are those of the nodes: one executable graph at a time
  if (unique && !graph->sole_user.expired()) return CUDA_ERROR_NOT_SUPPORTED;
  auto exec = std::make_unique<GraphExec>(*graph, flags);
  if (unique) graph->sole_user = exec->BeSoleUser();
  *phGraphExec = Publish(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                               char* logBuffer, size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize != 0) *logBuffer = '\0';
  return cuGraphInstantiateWithFlags(phGraphExec, hGraph, 0);
}

CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                            char* logBuffer, size_t bufferSize) {
  return cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuGraphInstantiateWithFlags(phGraphExec, hGraph, instantiateParams->flags);
  const Graph* const graph = From<Graph>(hGraph);
  instantiateParams->hErrNode_out = graph != nullptr ? HandleOf(graph->FindCycle()) : nullptr;
  const CUgraphInstantiateResult structure =
      graph != nullptr ? CheckStructure(*graph) : CUDA_GRAPH_INSTANTIATE_ERROR;
  instantiateParams->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                                  : structure != CUDA_GRAPH_INSTANTIATE_SUCCESS ? structure
                                  : result == CUDA_ERROR_NOT_SUPPORTED
                                      ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
                                      : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  return Withdraw<GraphExec>(hGraphExec) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  const GraphExec* const exec = From<GraphExec>(hGraphExec);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags();
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
  GraphExec* const exec = From<GraphExec>(hGraph);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  if (!stream->capturing()) return exec->Launch(*stream);
  if (exec->graph().HasConditionalNodes()) return CUDA_ERROR_NOT_SUPPORTED;
  NodeContent content;
  content.params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  content.children.emplace_back(exec->graph().Clone());
  content.children.front()->inner = true;
  NameChildren(content);
  return CaptureOf(*stream)->AppendContent(*stream, std::move(content));
}

// No device to copy to.
CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
  if (From<GraphExec>(hGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  return stream->capturing() ? RefuseCapturedStream(*stream) : CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
