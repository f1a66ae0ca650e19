#include "runtime/cuda/cudart/node_params.h"

#include "cudart_api.h"
#include "runtime/cuda/cudart/registration.h"
#include "runtime/cuda/cudart/symbol.h"

namespace ptx2cpu::cudart {

cudaError_t FromKernelNode(const cudaKernelNodeParams& params, CUDA_KERNEL_NODE_PARAMS& to) {
  if (const cudaError_t error = Begin()) return error;
  CUfunction function;
  if (const cudaError_t error = FunctionOf(params.func, function)) return error;
  to = {};
  to.func = function;
  to.gridDimX = params.gridDim.x;
  to.gridDimY = params.gridDim.y;
  to.gridDimZ = params.gridDim.z;
  to.blockDimX = params.blockDim.x;
  to.blockDimY = params.blockDim.y;
  to.blockDimZ = params.blockDim.z;
  to.sharedMemBytes = params.sharedMemBytes;
  to.kernelParams = params.kernelParams;
  to.extra = params.extra;
  return cudaSuccess;
}

void ToKernelNode(const CUDA_KERNEL_NODE_PARAMS& from, cudaKernelNodeParams& params) {
  // The program identifies its kernel by the host stub if it has one.
  const void* host = from.kern != nullptr ? Registry::Get().HostOf(from.kern) : nullptr;
  if (host == nullptr) host = Registry::Get().HostOf(reinterpret_cast<CUkernel>(from.func));
  if (host == nullptr) host = from.func != nullptr ? static_cast<const void*>(from.func) : from.kern;
  params = {const_cast<void*>(host),
            {from.gridDimX, from.gridDimY, from.gridDimZ},
            {from.blockDimX, from.blockDimY, from.blockDimZ},
            from.sharedMemBytes,
            from.kernelParams,
            from.extra};
}

cudaError_t LinearCopy(void* dst, const void* src, size_t count, cudaMemcpyKind kind, CUDA_MEMCPY3D& copy) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(kind, types)) return error;
  copy = RowCopy(dst, src, count, types);
  return cudaSuccess;
}

cudaError_t ToSymbolCopy(const void* symbol, const void* src, size_t count, size_t offset,
                         cudaMemcpyKind kind, CUDA_MEMCPY3D& copy) {
  void* to = nullptr;
  MemoryTypes types;
  if (const cudaError_t error = ToSymbolTypes(kind, types)) return error;
  if (const cudaError_t error = SymbolRange(symbol, offset, count, to)) return error;
  copy = RowCopy(to, src, count, types);
  return cudaSuccess;
}

cudaError_t FromSymbolCopy(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                           CUDA_MEMCPY3D& copy) {
  void* from = nullptr;
  MemoryTypes types;
  if (const cudaError_t error = FromSymbolTypes(kind, types)) return error;
  if (const cudaError_t error = SymbolRange(symbol, offset, count, from)) return error;
  copy = RowCopy(dst, from, count, types);
  return cudaSuccess;
}

cudaError_t ContextForNodes(CUcontext& context) {
  if (const cudaError_t error = Begin()) return error;
  return FromDriver(driver::cuCtxGetCurrent(&context));
}

cudaError_t FromNode(const cudaGraphNodeParams& params, CUcontext context, CUgraphNodeParams& to) {
  to = {};
  to.type = static_cast<CUgraphNodeType>(params.type);
  switch (params.type) {
    case cudaGraphNodeTypeKernel: {
      CUDA_KERNEL_NODE_PARAMS kernel;
      if (const cudaError_t error = FromKernelNode(params.kernel, kernel)) return error;
      to.kernel = *Twin<CUDA_KERNEL_NODE_PARAMS_v3>(&kernel);
      to.kernel.ctx = context;
      return cudaSuccess;
    }
    case cudaGraphNodeTypeMemcpy:
      to.memcpy.flags = params.memcpy.flags;
      to.memcpy.copyCtx = context;
      return FromParms(params.memcpy.copyParams, to.memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParams& fill = params.memset;
      to.memset = {Address(fill.dst), fill.pitch,  fill.value, fill.elementSize,
                   fill.width,        fill.height, context};
      return cudaSuccess;
    }
    case cudaGraphNodeTypeHost:
      to.host = {params.host.fn, params.host.userData};
      return cudaSuccess;
    case cudaGraphNodeTypeGraph:
      to.graph = {params.graph.graph, static_cast<CUgraphChildGraphNodeOwnership>(params.graph.ownership)};
      return cudaSuccess;
    case cudaGraphNodeTypeEmpty:
      return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
      to.eventWait = {params.eventWait.event};
      return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
      to.eventRecord = {params.eventRecord.event};
      return cudaSuccess;
    case cudaGraphNodeTypeMemAlloc:
      to.alloc = *Twin<const CUDA_MEM_ALLOC_NODE_PARAMS_v2>(&params.alloc);
      return cudaSuccess;
    case cudaGraphNodeTypeMemFree:
      to.free = {Address(params.free.dptr)};
      return cudaSuccess;
    case cudaGraphNodeTypeConditional: {
      const cudaConditionalNodeParams& from = params.conditional;
      to.conditional = {from.handle, static_cast<CUgraphConditionalNodeType>(from.type), from.size,
                        from.phGraph_out, context};
      return cudaSuccess;
    }
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
      return cudaErrorNotSupported;
  }
  return cudaErrorInvalidValue;
}

void GiveBack(const CUgraphNodeParams& from, cudaGraphNodeParams& params) {
  if (params.type == cudaGraphNodeTypeMemAlloc) params.alloc.dptr = reinterpret_cast<void*>(from.alloc.dptr);
  if (params.type == cudaGraphNodeTypeConditional)
    params.conditional.phGraph_out = from.conditional.phGraph_out;
}

}  // namespace ptx2cpu::cudart
