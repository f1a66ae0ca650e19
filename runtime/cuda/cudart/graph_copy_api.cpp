// Memcpy nodes: boxes, rows, symbols.
#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/node_params.h"

namespace ptx2cpu::cudart {

namespace {

cudaError_t Add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                const CUDA_MEMCPY3D& copy) {
  CUcontext context;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  return FromDriver(driver::cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, context));
}

cudaError_t Set(cudaGraphNode_t node, const CUDA_MEMCPY3D& copy) {
  return FromDriver(driver::cuGraphMemcpyNodeSetParams(node, &copy));
}

cudaError_t SetInExec(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D& copy) {
  CUcontext context;
  if (const cudaError_t error = ContextForNodes(context)) return error;
  return FromDriver(driver::cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context));
}

cudaError_t Checked(const cudaMemcpy3DParms* parms, CUDA_MEMCPY3D& copy) {
  if (parms == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  return FromParms(*parms, copy);
}

}  // namespace

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                   const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                   const cudaMemcpy3DParms* pCopyParams) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = Checked(pCopyParams, copy)) return error;
  return Add(pGraphNode, graph, pDependencies, numDependencies, copy);
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                           const void* symbol, const void* src, size_t count, size_t offset,
                                           cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = ToSymbolCopy(symbol, src, count, offset, kind, copy)) return error;
  return Add(pGraphNode, graph, pDependencies, numDependencies, copy);
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t* pDependencies, size_t numDependencies,
                                             void* dst, const void* symbol, size_t count, size_t offset,
                                             cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = FromSymbolCopy(dst, symbol, count, offset, kind, copy)) return error;
  return Add(pGraphNode, graph, pDependencies, numDependencies, copy);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                     const cudaGraphNode_t* pDependencies, size_t numDependencies, void* dst,
                                     const void* src, size_t count, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = LinearCopy(dst, src, count, kind, copy)) return error;
  return Add(pGraphNode, graph, pDependencies, numDependencies, copy);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* pNodeParams) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = InContext(&driver::cuGraphMemcpyNodeGetParams, node, &copy)) return error;
  return ToParms(copy, *pNodeParams);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* pNodeParams) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = Checked(pNodeParams, copy)) return error;
  return Set(node, copy);
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* src,
                                                 size_t count, size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = ToSymbolCopy(symbol, src, count, offset, kind, copy)) return error;
  return Set(node, copy);
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* dst, const void* symbol,
                                                   size_t count, size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = FromSymbolCopy(dst, symbol, count, offset, kind, copy)) return error;
  return Set(node, copy);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* dst, const void* src, size_t count,
                                           cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = LinearCopy(dst, src, count, kind, copy)) return error;
  return Set(node, copy);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* pNodeParams) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = Checked(pNodeParams, copy)) return error;
  return SetInExec(hGraphExec, node, copy);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                     const void* symbol, const void* src, size_t count,
                                                     size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = ToSymbolCopy(symbol, src, count, offset, kind, copy)) return error;
  return SetInExec(hGraphExec, node, copy);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                                       void* dst, const void* symbol, size_t count,
                                                       size_t offset, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = FromSymbolCopy(dst, symbol, count, offset, kind, copy)) return error;
  return SetInExec(hGraphExec, node, copy);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void* dst,
                                               const void* src, size_t count, cudaMemcpyKind kind) {
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = LinearCopy(dst, src, count, kind, copy)) return error;
  return SetInExec(hGraphExec, node, copy);
}

}  // namespace ptx2cpu::cudart
