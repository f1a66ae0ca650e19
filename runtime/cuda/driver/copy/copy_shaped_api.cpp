// Copies of two and three dimensions, and between contexts.
#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/copy/copy.h"

namespace ptx2cpu::driver {

namespace {

template <typename Structure>
CUresult Copy(const Structure* structure, CUstream stream, CopyMode mode) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (structure == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return RunCopy(RequestOf(*structure), stream, mode);
}

// A null context means the one of the address.
CUresult CheckPeers(CUcontext to, CUcontext from) {
  for (CUcontext handle : {to, from}) {
    if (handle != nullptr && From<Context>(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  }
  return CUDA_SUCCESS;
}

// Copies between contexts come after all work of both.
void AwaitPeers(CUcontext to, CUcontext from) {
  Context* current = nullptr;
  if (WorkingContext(current) != CUDA_SUCCESS) return;
  for (CUcontext handle : {to, from}) {
    Context* context = handle == nullptr ? nullptr : From<Context>(handle);
    if (context != nullptr && context != current && context->alive()) context->streams().Synchronize();
  }
}

CUresult CopyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                  size_t bytes, CUstream stream, CopyMode mode) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = CheckPeers(to_context, from_context)) return error;
  if (mode == CopyMode::kSynchronous) AwaitPeers(to_context, from_context);
  CopyRequest request;
  request.from = CopyEnd::Unified(from), request.to = CopyEnd::Unified(to), request.width = bytes;
  return RunCopy(request, stream, mode);
}

CUresult CopyPeer(const CUDA_MEMCPY3D_PEER* copy, CUstream stream, CopyMode mode) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUcontext to = copy->dstMemoryType == CU_MEMORYTYPE_ARRAY ? nullptr : copy->dstContext;
  const CUcontext from = copy->srcMemoryType == CU_MEMORYTYPE_ARRAY ? nullptr : copy->srcContext;
  if (const CUresult error = CheckPeers(to, from)) return error;
  if (mode == CopyMode::kSynchronous) AwaitPeers(to, from);
  return RunCopy(RequestOf(*copy), stream, mode);
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) { return Copy(pCopy, nullptr, CopyMode::kSynchronous); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) {
  return Copy(pCopy, nullptr, CopyMode::kSynchronous);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return Copy(pCopy, hStream, CopyMode::kAsynchronous);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy) { return Copy(pCopy, nullptr, CopyMode::kSynchronous); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return Copy(pCopy, hStream, CopyMode::kAsynchronous);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* pCopy) {
  return CopyPeer(pCopy, nullptr, CopyMode::kSynchronous);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  return CopyPeer(pCopy, hStream, CopyMode::kAsynchronous);
}
CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount) {
  return CopyPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, nullptr, CopyMode::kSynchronous);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
  return CopyPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, CopyMode::kAsynchronous);
}

}  // namespace ptx2cpu::driver
