// Copies between pointers: one, two and three dimensions, peers, batches; filling.
#include "runtime/cuda/cudart/copy.h"

#include <vector>

#include "cudart_api.h"

namespace ptx2cpu::cudart {

cudaError_t TypesOf(cudaMemcpyKind kind, MemoryTypes& types) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      types = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST};
      return cudaSuccess;
    case cudaMemcpyHostToDevice:
      types = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE};
      return cudaSuccess;
    case cudaMemcpyDeviceToHost:
      types = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST};
      return cudaSuccess;
    case cudaMemcpyDeviceToDevice:
      types = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE};
      return cudaSuccess;
    case cudaMemcpyDefault:
      types = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED};
      return cudaSuccess;
  }
  return cudaErrorInvalidMemcpyDirection;
}

cudaMemcpyKind KindOf(CUmemorytype from, CUmemorytype to) {
  if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
  if (from == CU_MEMORYTYPE_HOST)
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

bool Fits(CUmemorytype type, const void* pointer) {
  if (type != CU_MEMORYTYPE_DEVICE) return true;
  CUmemorytype known{};
  return driver::cuPointerGetAttribute(&known, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, Address(pointer)) ==
         CUDA_SUCCESS;
}

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

CUDA_MEMCPY2D RectCopy(const Side& to, const Side& from, size_t width, size_t height) {
  CUDA_MEMCPY2D copy{};
  copy.srcXInBytes = from.x;
  copy.srcY = from.y;
  copy.srcMemoryType = from.array != nullptr ? CU_MEMORYTYPE_ARRAY : from.type;
  copy.srcHost = from.pointer;
  copy.srcDevice = Address(from.pointer);
  copy.srcArray = from.array;
  copy.srcPitch = from.pitch;
  copy.dstXInBytes = to.x;
  copy.dstY = to.y;
  copy.dstMemoryType = to.array != nullptr ? CU_MEMORYTYPE_ARRAY : to.type;
  copy.dstHost = const_cast<void*>(to.pointer);
  copy.dstDevice = Address(to.pointer);
  copy.dstArray = to.array;
  copy.dstPitch = to.pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
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

CUDA_MEMCPY3D RowCopy(void* to, const void* from, size_t count, MemoryTypes types) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = types.from;
  copy.srcHost = from;
  copy.srcDevice = Address(from);
  copy.srcPitch = count;
  copy.srcHeight = 1;
  copy.dstMemoryType = types.to;
  copy.dstHost = to;
  copy.dstDevice = Address(to);
  copy.dstPitch = count;
  copy.dstHeight = 1;
  copy.WidthInBytes = count;
  copy.Height = 1;
  copy.Depth = 1;
  return copy;
}

namespace {

// Both 3D structures name their members alike. Where an array takes part, the extent counts its elements; an
// offset counts elements of its own side, which for a pointer are bytes.
template <typename Parms, typename Copy>
cudaError_t Fill3D(const Parms& parms, MemoryTypes types, Copy& copy) {
  size_t from_bytes = 1, to_bytes = 1;
  copy = {};
  copy.srcArray = ArrayOf(parms.srcArray);
  copy.dstArray = ArrayOf(parms.dstArray);
  if ((parms.srcArray != nullptr) == (parms.srcPtr.ptr != nullptr) ||
      (parms.dstArray != nullptr) == (parms.dstPtr.ptr != nullptr)) {
    return cudaErrorInvalidValue;
  }
  if (parms.srcArray != nullptr) {
    if (const cudaError_t error = ElementBytes(copy.srcArray, from_bytes)) return error;
  }
  if (parms.dstArray != nullptr) {
    if (const cudaError_t error = ElementBytes(copy.dstArray, to_bytes)) return error;
  }
  if (parms.srcArray != nullptr && parms.dstArray != nullptr && from_bytes != to_bytes)
    return cudaErrorInvalidValue;
  copy.srcMemoryType = parms.srcArray != nullptr ? CU_MEMORYTYPE_ARRAY : types.from;
  copy.srcXInBytes = parms.srcPos.x * from_bytes;
  copy.srcY = parms.srcPos.y;
  copy.srcZ = parms.srcPos.z;
  copy.srcHost = parms.srcPtr.ptr;
  copy.srcDevice = Address(parms.srcPtr.ptr);
  copy.srcPitch = parms.srcPtr.pitch;
  copy.srcHeight = parms.srcPtr.ysize;
  copy.dstMemoryType = parms.dstArray != nullptr ? CU_MEMORYTYPE_ARRAY : types.to;
  copy.dstXInBytes = parms.dstPos.x * to_bytes;
  copy.dstY = parms.dstPos.y;
  copy.dstZ = parms.dstPos.z;
  copy.dstHost = parms.dstPtr.ptr;
  copy.dstDevice = Address(parms.dstPtr.ptr);
  copy.dstPitch = parms.dstPtr.pitch;
  copy.dstHeight = parms.dstPtr.ysize;
  copy.WidthInBytes = parms.extent.width * (parms.srcArray != nullptr ? from_bytes : to_bytes);
  copy.Height = parms.extent.height;
  copy.Depth = parms.extent.depth;
  const bool from_pitched = parms.srcPtr.ptr != nullptr, to_pitched = parms.dstPtr.ptr != nullptr;
  if ((from_pitched && copy.Height > 1 && copy.WidthInBytes > copy.srcPitch) ||
      (to_pitched && copy.Height > 1 && copy.WidthInBytes > copy.dstPitch)) {
    return cudaErrorInvalidPitchValue;
  }
  return cudaSuccess;
}

cudaError_t Peers(const cudaMemcpy3DPeerParms* parms, CUDA_MEMCPY3D_PEER& copy) {
  if (parms == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  if (const cudaError_t error = Fill3D(*parms, {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED}, copy))
    return error;
  if (const cudaError_t error = PrimaryContext(parms->srcDevice, copy.srcContext)) return error;
  return PrimaryContext(parms->dstDevice, copy.dstContext);
}

bool Nothing(const cudaExtent& extent) {
  return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

}  // namespace

cudaError_t FromParms(const cudaMemcpy3DParms& parms, CUDA_MEMCPY3D& copy) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(parms.kind, types)) return error;
  const bool nothing = Nothing(parms.extent);
  if (!nothing && parms.srcPtr.ptr != nullptr && !Fits(types.from, parms.srcPtr.ptr))
    return cudaErrorInvalidValue;
  if (!nothing && parms.dstPtr.ptr != nullptr && !Fits(types.to, parms.dstPtr.ptr))
    return cudaErrorInvalidValue;
  return Fill3D(parms, types, copy);
}

cudaError_t ToParms(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms& parms) {
  size_t from_bytes = 1, to_bytes = 1;
  const bool from_array = copy.srcMemoryType == CU_MEMORYTYPE_ARRAY,
             to_array = copy.dstMemoryType == CU_MEMORYTYPE_ARRAY;
  parms = {};
  if (from_array) {
    parms.srcArray = reinterpret_cast<cudaArray_t>(copy.srcArray);
    if (const cudaError_t error = ElementBytes(copy.srcArray, from_bytes)) return error;
  } else {
    void* const from = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? const_cast<void*>(copy.srcHost)
                                                                : reinterpret_cast<void*>(copy.srcDevice);
    parms.srcPtr = {from, copy.srcPitch, copy.srcPitch, copy.srcHeight};
  }
  if (to_array) {
    parms.dstArray = reinterpret_cast<cudaArray_t>(copy.dstArray);
    if (const cudaError_t error = ElementBytes(copy.dstArray, to_bytes)) return error;
  } else {
    void* const to =
        copy.dstMemoryType == CU_MEMORYTYPE_HOST ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice);
    parms.dstPtr = {to, copy.dstPitch, copy.dstPitch, copy.dstHeight};
  }
  parms.srcPos = {copy.srcXInBytes / from_bytes, copy.srcY, copy.srcZ};
  parms.dstPos = {copy.dstXInBytes / to_bytes, copy.dstY, copy.dstZ};
  parms.extent = {copy.WidthInBytes / (from_array ? from_bytes : to_bytes), copy.Height, copy.Depth};
  parms.kind = KindOf(copy.srcMemoryType, copy.dstMemoryType);
  return cudaSuccess;
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = FromParms(*p, copy)) return error;
  return Nothing(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3D_v2(&copy));
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  CUDA_MEMCPY3D copy;
  if (const cudaError_t error = FromParms(*p, copy)) return error;
  return Nothing(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3DAsync_v2(&copy, stream));
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
  CUDA_MEMCPY3D_PEER copy;
  if (const cudaError_t error = Peers(p, copy)) return error;
  return Nothing(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3DPeer(&copy));
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  CUDA_MEMCPY3D_PEER copy;
  if (const cudaError_t error = Peers(p, copy)) return error;
  return Nothing(p->extent) ? cudaSuccess : FromDriver(driver::cuMemcpy3DPeerAsync(&copy, stream));
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
