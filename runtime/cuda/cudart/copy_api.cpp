// Copies between pointers: one, two and three dimensions, peers, batches.
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/cudart/copy.h"

namespace ptx2cpu::cudart {

namespace {

cudaError_t CheckEnds(const void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(kind, types)) return error;
  if (const cudaError_t error = Begin()) return error;
  return count == 0 || (Fits(types.to, dst) && Fits(types.from, src)) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  if (const cudaError_t error = CheckEnds(dst, src, count, kind)) return error;
  if (count == 0) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return FromDriver(driver::cuMemcpyHtoD_v2(Address(dst), src, count));
    case cudaMemcpyDeviceToHost:
      return FromDriver(driver::cuMemcpyDtoH_v2(dst, Address(src), count));
    case cudaMemcpyDeviceToDevice:
      return FromDriver(driver::cuMemcpyDtoD_v2(Address(dst), Address(src), count));
    default:
      return FromDriver(driver::cuMemcpy(Address(dst), Address(src), count));
  }
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (const cudaError_t error = CheckEnds(dst, src, count, kind)) return error;
  if (count == 0) return cudaSuccess;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return FromDriver(driver::cuMemcpyHtoDAsync_v2(Address(dst), src, count, stream));
    case cudaMemcpyDeviceToHost:
      return FromDriver(driver::cuMemcpyDtoHAsync_v2(dst, Address(src), count, stream));
    case cudaMemcpyDeviceToDevice:
      return FromDriver(driver::cuMemcpyDtoDAsync_v2(Address(dst), Address(src), count, stream));
    default:
      return FromDriver(driver::cuMemcpyAsync(Address(dst), Address(src), count, stream));
  }
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  CUcontext to, from;
  if (const cudaError_t error = PrimaryContext(dstDevice, to)) return error;
  if (const cudaError_t error = PrimaryContext(srcDevice, from)) return error;
  return InContext(&driver::cuMemcpyPeer, Address(dst), to, Address(src), from, count);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
                                cudaStream_t stream) {
  CUcontext to, from;
  if (const cudaError_t error = PrimaryContext(dstDevice, to)) return error;
  if (const cudaError_t error = PrimaryContext(srcDevice, from)) return error;
  return InContext(&driver::cuMemcpyPeerAsync, Address(dst), to, Address(src), from, count, stream);
}

namespace {

cudaError_t Rect(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                 cudaMemcpyKind kind, CUDA_MEMCPY2D& copy) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(kind, types)) return error;
  if (width > dpitch || width > spitch) return cudaErrorInvalidPitchValue;
  if (width != 0 && height != 0 && !(Fits(types.to, dst) && Fits(types.from, src)))
    return cudaErrorInvalidValue;
  copy = RectCopy({.type = types.to, .pointer = dst, .pitch = dpitch},
                  {.type = types.from, .pointer = src, .pitch = spitch}, width, height);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy;
  if (const cudaError_t error = Rect(dst, dpitch, src, spitch, width, height, kind, copy)) return error;
  if (const cudaError_t error = Begin()) return error;
  return width == 0 || height == 0 ? cudaSuccess : FromDriver(driver::cuMemcpy2DUnaligned_v2(&copy));
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  CUDA_MEMCPY2D copy;
  if (const cudaError_t error = Rect(dst, dpitch, src, spitch, width, height, kind, copy)) return error;
  if (const cudaError_t error = Begin()) return error;
  return width == 0 || height == 0 ? cudaSuccess : FromDriver(driver::cuMemcpy2DAsync_v2(&copy, stream));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = FromParms(*p, copy)) return error;
  return IsEmpty(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3D_v2(&copy));
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = FromParms(*p, copy)) return error;
  return IsEmpty(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3DAsync_v2(&copy, stream));
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
  CUDA_MEMCPY3D_PEER copy;
  if (const cudaError_t error = FromPeerParms(p, copy)) return error;
  return IsEmpty(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3DPeer(&copy));
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  CUDA_MEMCPY3D_PEER copy;
  if (const cudaError_t error = FromPeerParms(p, copy)) return error;
  return IsEmpty(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3DPeerAsync(&copy, stream));
}

cudaError_t cudaMemcpyBatchAsync(void** dsts, void** srcs, size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                                 size_t* failIdx, cudaStream_t stream) {
  return InContext(&driver::cuMemcpyBatchAsync, AddressOut(dsts), AddressOut(srcs), sizes, count,
                   Twin<CUmemcpyAttributes>(attrs), attrsIdxs, numAttrs, failIdx, stream);
}

cudaError_t cudaMemcpyBatchAsync(void* const* dsts, const void* const* srcs, const size_t* sizes,
                                 size_t count, cudaMemcpyAttributes* attrs, size_t* attrsIdxs,
                                 size_t numAttrs, cudaStream_t stream) {
  return InContext(&driver::cuMemcpyBatchAsync_v2, AddressOut(const_cast<void**>(dsts)),
                   AddressOut(const_cast<void**>(srcs)), const_cast<size_t*>(sizes), count,
                   Twin<CUmemcpyAttributes>(attrs), attrsIdxs, numAttrs, stream);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, cudaMemcpy3DBatchOp* opList, size_t* failIdx,
                                   unsigned long long flags, cudaStream_t stream) {
  return InContext(&driver::cuMemcpy3DBatchAsync, numOps, Twin<CUDA_MEMCPY3D_BATCH_OP>(opList), failIdx,
                   flags, stream);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, cudaMemcpy3DBatchOp* opList, unsigned long long flags,
                                   cudaStream_t stream) {
  return InContext(&driver::cuMemcpy3DBatchAsync_v2, numOps, Twin<CUDA_MEMCPY3D_BATCH_OP>(opList), flags,
                   stream);
}

cudaError_t cudaMemcpyWithAttributesAsync(void* dst, const void* src, size_t size, cudaMemcpyAttributes* attr,
                                          cudaStream_t stream) {
  size_t first = 0;
  return cudaMemcpyBatchAsync(&dst, &src, &size, 1, attr, &first, 1, stream);
}

cudaError_t cudaMemcpy3DWithAttributesAsync(cudaMemcpy3DBatchOp* op, unsigned long long flags,
                                            cudaStream_t stream) {
  return cudaMemcpy3DBatchAsync(1, op, flags, stream);
}

}  // namespace ptx2cpu::cudart
