// From the runtime's copy parameters to the driver's, and back.
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

}  // namespace

cudaError_t FromPeerParms(const cudaMemcpy3DPeerParms* parms, CUDA_MEMCPY3D_PEER& copy) {
  if (parms == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  if (const cudaError_t error = Fill3D(*parms, {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED}, copy))
    return error;
  if (const cudaError_t error = PrimaryContext(parms->srcDevice, copy.srcContext)) return error;
  return PrimaryContext(parms->dstDevice, copy.dstContext);
}

bool IsEmpty(const cudaExtent& extent) {
  return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

cudaError_t FromParms(const cudaMemcpy3DParms& parms, CUDA_MEMCPY3D& copy) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(parms.kind, types)) return error;
  const bool nothing = IsEmpty(parms.extent);
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

}  // namespace ptx2cpu::cudart
