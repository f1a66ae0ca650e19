// Conversion of the parameters of a node of one kind to those of any kind.
#pragma once

#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::driver {

inline cuda::CUgraphNodeParams ParamsOf(cuda::CUgraphNodeType type) {
  cuda::CUgraphNodeParams params{};
  params.type = type;
  return params;
}

inline cuda::CUgraphNodeParams ParamsOf(const cuda::CUDA_KERNEL_NODE_PARAMS_v2& kernel) {
  cuda::CUgraphNodeParams params = ParamsOf(cuda::CU_GRAPH_NODE_TYPE_KERNEL);
  params.kernel = {kernel.func,         kernel.gridDimX,  kernel.gridDimY,  kernel.gridDimZ,
                   kernel.blockDimX,    kernel.blockDimY, kernel.blockDimZ, kernel.sharedMemBytes,
                   kernel.kernelParams, kernel.extra,     kernel.kern,      kernel.ctx};
  return params;
}

inline cuda::CUgraphNodeParams ParamsOf(const cuda::CUDA_KERNEL_NODE_PARAMS_v1& kernel) {
  cuda::CUgraphNodeParams params = ParamsOf(cuda::CU_GRAPH_NODE_TYPE_KERNEL);
  params.kernel = {kernel.func,         kernel.gridDimX,  kernel.gridDimY,  kernel.gridDimZ,
                   kernel.blockDimX,    kernel.blockDimY, kernel.blockDimZ, kernel.sharedMemBytes,
                   kernel.kernelParams, kernel.extra,     nullptr,          nullptr};
  return params;
}

inline cuda::CUgraphNodeParams ParamsOf(const cuda::CUDA_MEMCPY3D& copy, cuda::CUcontext context) {
  cuda::CUgraphNodeParams params = ParamsOf(cuda::CU_GRAPH_NODE_TYPE_MEMCPY);
  params.memcpy.copyCtx = context;
  params.memcpy.copyParams = copy;
  return params;
}

inline cuda::CUgraphNodeParams ParamsOf(const cuda::CUDA_MEMSET_NODE_PARAMS_v1& fill,
                                        cuda::CUcontext context) {
  cuda::CUgraphNodeParams params = ParamsOf(cuda::CU_GRAPH_NODE_TYPE_MEMSET);
  params.memset = {fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height, context};
  return params;
}

inline cuda::CUgraphNodeParams ParamsOf(const cuda::CUDA_HOST_NODE_PARAMS_v1& host) {
  cuda::CUgraphNodeParams params = ParamsOf(cuda::CU_GRAPH_NODE_TYPE_HOST);
  params.host = {host.fn, host.userData};
  return params;
}

inline cuda::CUgraphNodeParams ParamsOf(const cuda::CUDA_BATCH_MEM_OP_NODE_PARAMS_v1& batch) {
  cuda::CUgraphNodeParams params = ParamsOf(cuda::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  params.memOp = {batch.ctx, batch.count, batch.paramArray, batch.flags};
  return params;
}

inline cuda::CUgraphNodeParams EventParams(cuda::CUgraphNodeType type, cuda::CUevent event) {
  cuda::CUgraphNodeParams params = ParamsOf(type);
  params.eventRecord.event = event;
  return params;
}

}  // namespace ptx2cpu::driver
