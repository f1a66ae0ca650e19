// Texture and surface objects.
#include <algorithm>
#include <cstring>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/texture.h"

namespace ptx2cpu::cudart {

namespace {

// Linear filtering returns fractions, which a read of plain integers cannot.
cudaError_t CheckFilter(cudaResourceType type, const cudaResourceDescUnion& resource,
                        const cudaTextureDesc11& texture) {
  if (texture.filterMode != cudaFilterModeLinear || texture.readMode != cudaReadModeElementType)
    return cudaSuccess;
  cudaChannelFormatDesc description{};
  description.f = cudaChannelFormatKindNone;
  if (type == cudaResourceTypePitch2D) description = resource.pitch2D.desc;
  if (type == cudaResourceTypeArray) {
    if (const cudaError_t error = cudaGetChannelDesc(&description, resource.array.array)) return error;
  }
  const bool integers =
      description.f == cudaChannelFormatKindSigned || description.f == cudaChannelFormatKindUnsigned;
  return integers ? cudaErrorInvalidFilterSetting : cudaSuccess;
}

cudaError_t Create(cudaTextureObject_t* object, cudaResourceType type, const cudaResourceDescUnion& resource,
                   const cudaTextureDesc11& texture, bool seamless, const cudaResourceViewDesc12* view) {
  CUDA_RESOURCE_DESC from;
  if (const cudaError_t error = FromResource(type, resource, from)) return error;
  if (const cudaError_t error = CheckFilter(type, resource, texture)) return error;
  const CUDA_TEXTURE_DESC how = FromTexture(texture, seamless);
  if (view == nullptr)
    return InContext(&driver::cuTexObjectCreate, object, &from, &how,
                     static_cast<const CUDA_RESOURCE_VIEW_DESC*>(nullptr));
  const CUDA_RESOURCE_VIEW_DESC seen = FromView(*view);
  return InContext(&driver::cuTexObjectCreate, object, &from, &how, &seen);
}

template <typename Get>
cudaError_t GetResource(const Get& get, cudaResourceType* type, cudaResourceDescUnion* resource) {
  CUDA_RESOURCE_DESC from;
  if (const cudaError_t error = get(&from)) return error;
  return ToResource(from, *type, *resource);
}

cudaError_t TextureResource(cudaTextureObject_t object, cudaResourceType* type,
                            cudaResourceDescUnion* resource) {
  return GetResource(
      [&](CUDA_RESOURCE_DESC* from) { return InContext(&driver::cuTexObjectGetResourceDesc, from, object); },
      type, resource);
}

cudaError_t SurfaceResource(cudaSurfaceObject_t object, cudaResourceType* type,
                            cudaResourceDescUnion* resource) {
  return GetResource(
      [&](CUDA_RESOURCE_DESC* from) { return InContext(&driver::cuSurfObjectGetResourceDesc, from, object); },
      type, resource);
}

cudaError_t CreateSurface(cudaSurfaceObject_t* object, cudaResourceType type,
                          const cudaResourceDescUnion& resource) {
  if (type != cudaResourceTypeArray) return cudaErrorInvalidValue;
  CUDA_RESOURCE_DESC from;
  if (const cudaError_t error = FromResource(type, resource, from)) return error;
  return InContext(&driver::cuSurfObjectCreate, object, &from);
}

}  // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* pTexObject, const cudaResourceDesc12* pResDesc,
                                    const cudaTextureDesc11* pTexDesc,
                                    const cudaResourceViewDesc12* pResViewDesc) {
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr) return cudaErrorInvalidValue;
  return Create(pTexObject, pResDesc->resType, pResDesc->res, *pTexDesc, false, pResViewDesc);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* pTexObject, const cudaResourceDesc12* pResDesc,
                                    const cudaTextureDesc* pTexDesc,
                                    const cudaResourceViewDesc12* pResViewDesc) {
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr) return cudaErrorInvalidValue;
  return Create(pTexObject, pResDesc->resType, pResDesc->res, *pTexDesc, pTexDesc->seamlessCubemap != 0,
                pResViewDesc);
}

cudaError_t cudaCreateTextureObject_v2(cudaTextureObject_t* pTexObject, const cudaResourceDesc12* pResDesc,
                                       const cudaTextureDesc* pTexDesc,
                                       const cudaResourceViewDesc12* pResViewDesc) {
  return cudaCreateTextureObject(pTexObject, pResDesc, pTexDesc, pResViewDesc);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* pTexObject, const cudaResourceDesc13* pResDesc,
                                    const cudaTextureDesc* pTexDesc,
                                    const cudaResourceViewDesc13* pResViewDesc) {
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr) return cudaErrorInvalidValue;
  return Create(pTexObject, pResDesc->resType, pResDesc->res, *pTexDesc, pTexDesc->seamlessCubemap != 0,
                pResViewDesc);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject) {
  return InContext(&driver::cuTexObjectDestroy, texObject);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc12* pResDesc, cudaTextureObject_t texObject) {
  return pResDesc == nullptr ? cudaErrorInvalidValue
                             : TextureResource(texObject, &pResDesc->resType, &pResDesc->res);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc13* pResDesc, cudaTextureObject_t texObject) {
  if (pResDesc == nullptr) return cudaErrorInvalidValue;
  *pResDesc = {};
  return TextureResource(texObject, &pResDesc->resType, &pResDesc->res);
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc11* pTexDesc, cudaTextureObject_t texObject) {
  if (pTexDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_TEXTURE_DESC from;
  if (const cudaError_t error = InContext(&driver::cuTexObjectGetTextureDesc, &from, texObject)) return error;
  ToTexture(from, *pTexDesc);
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* pTexDesc, cudaTextureObject_t texObject) {
  if (pTexDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_TEXTURE_DESC from;
  if (const cudaError_t error = InContext(&driver::cuTexObjectGetTextureDesc, &from, texObject)) return error;
  ToTexture(from, *pTexDesc);
  pTexDesc->seamlessCubemap = (from.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc_v2(cudaTextureDesc* pTexDesc, cudaTextureObject_t texObject) {
  return cudaGetTextureObjectTextureDesc(pTexDesc, texObject);
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc12* pResViewDesc,
                                                 cudaTextureObject_t texObject) {
  if (pResViewDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_RESOURCE_VIEW_DESC from;
  if (const cudaError_t error = InContext(&driver::cuTexObjectGetResourceViewDesc, &from, texObject))
    return error;
  ToView(from, *pResViewDesc);
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc13* pResViewDesc,
                                                 cudaTextureObject_t texObject) {
  if (pResViewDesc == nullptr) return cudaErrorInvalidValue;
  std::memset(pResViewDesc->reserved, 0, sizeof pResViewDesc->reserved);
  return cudaGetTextureObjectResourceViewDesc(static_cast<cudaResourceViewDesc12*>(pResViewDesc), texObject);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* pSurfObject, const cudaResourceDesc12* pResDesc) {
  if (pSurfObject == nullptr || pResDesc == nullptr) return cudaErrorInvalidValue;
  return CreateSurface(pSurfObject, pResDesc->resType, pResDesc->res);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* pSurfObject, const cudaResourceDesc13* pResDesc) {
  if (pSurfObject == nullptr || pResDesc == nullptr) return cudaErrorInvalidValue;
  return CreateSurface(pSurfObject, pResDesc->resType, pResDesc->res);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject) {
  return InContext(&driver::cuSurfObjectDestroy, surfObject);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc12* pResDesc, cudaSurfaceObject_t surfObject) {
  return pResDesc == nullptr ? cudaErrorInvalidValue
                             : SurfaceResource(surfObject, &pResDesc->resType, &pResDesc->res);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc13* pResDesc, cudaSurfaceObject_t surfObject) {
  if (pResDesc == nullptr) return cudaErrorInvalidValue;
  *pResDesc = {};
  return SurfaceResource(surfObject, &pResDesc->resType, &pResDesc->res);
}

}  // namespace ptx2cpu::cudart
