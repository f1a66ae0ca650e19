// Parameters of graph nodes: the runtime's and the driver's.
#pragma once

#include "runtime/cuda/cudart/copy.h"

namespace ptx2cpu::cudart {

cuda::cudaError_t FromKernelNode(const cuda::cudaKernelNodeParams& params, cuda::CUDA_KERNEL_NODE_PARAMS& to);
void ToKernelNode(const cuda::CUDA_KERNEL_NODE_PARAMS& from, cuda::cudaKernelNodeParams& params);

// A copy to or from a symbol, or between pointers, as a memcpy node.
cuda::cudaError_t ToSymbolCopy(const void* symbol, const void* src, size_t count, size_t offset,
                               cuda::cudaMemcpyKind kind, cuda::CUDA_MEMCPY3D& copy);
cuda::cudaError_t FromSymbolCopy(void* dst, const void* symbol, size_t count, size_t offset,
                                 cuda::cudaMemcpyKind kind, cuda::CUDA_MEMCPY3D& copy);
cuda::cudaError_t LinearCopy(void* dst, const void* src, size_t count, cuda::cudaMemcpyKind kind,
                             cuda::CUDA_MEMCPY3D& copy);

// Any kind of node. `context`: where the node's work belongs.
cuda::cudaError_t FromNode(const cuda::cudaGraphNodeParams& params, cuda::CUcontext context,
                           cuda::CUgraphNodeParams& to);
// Copies the results of a call back: storage that it allocated, graphs of a conditional node.
void GiveBack(const cuda::CUgraphNodeParams& from, cuda::cudaGraphNodeParams& params);

// This thread's context.
cuda::cudaError_t ContextForNodes(cuda::CUcontext& context);

}  // namespace ptx2cpu::cudart
