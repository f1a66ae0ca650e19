// Texture and surface objects.
#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/image/texture.h"

namespace ptx2cpu::driver {

namespace {

template <typename T>
void DestroyOwned(void* object) {
  Withdraw<T>(HandleOf(static_cast<const T*>(object))).reset();
}

template <typename T>
typename T::Handle PublishIn(Context& context, std::unique_ptr<T> object) {
  T* made = object.get();
  context.Own(made, DestroyOwned<T>);
  return Publish(std::move(object));
}

// Kernels that may still read it come first. 0 is nothing to destroy.
template <typename T>
CUresult Destroy(typename T::Handle handle) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (handle == 0) return CUDA_SUCCESS;
  if (From<T>(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  context->streams().Synchronize();
  const auto gone = Withdraw<T>(handle);
  if (gone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  context->Disown(gone.get());
  return CUDA_SUCCESS;
}

template <typename T>
CUresult Find(typename T::Handle handle, const void* into, T*& object) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  object = From<T>(handle);
  return object == nullptr || into == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuTexObjectCreate(CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
                           const CUDA_TEXTURE_DESC* pTexDesc, const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<TextureObject>();
  bool normalized_format = false;
  made->device.kind = PTX2CPU_KIND_TEXTURE_OBJECT;
  if (const CUresult error = DescribeImage(*pResDesc, &made->device.image, &normalized_format)) return error;
  if (pResViewDesc != nullptr) {
    if (const CUresult error = ApplyView(*pResViewDesc, &made->device.image)) return error;
    const bool array =
        pResDesc->resType == CU_RESOURCE_TYPE_ARRAY || pResDesc->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (array) made->view = *pResViewDesc;
    if (array) normalized_format = false;
  }
  if (const CUresult error = DescribeSampling(*pTexDesc, normalized_format, &made->device)) return error;
  made->resource = *pResDesc;
  made->description = *pTexDesc;
  *pTexObject = PublishIn(*context, std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject texObject) { return Destroy<TextureObject>(texObject); }

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUtexObject texObject) {
  TextureObject* texture = nullptr;
  if (const CUresult error = Find(texObject, pResDesc, texture)) return error;
  *pResDesc = texture->resource;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* pTexDesc, CUtexObject texObject) {
  TextureObject* texture = nullptr;
  if (const CUresult error = Find(texObject, pTexDesc, texture)) return error;
  *pTexDesc = texture->description;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* pResViewDesc, CUtexObject texObject) {
  TextureObject* texture = nullptr;
  if (const CUresult error = Find(texObject, pResViewDesc, texture)) return error;
  *pResViewDesc = texture->view.value_or(CUDA_RESOURCE_VIEW_DESC{});
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pSurfObject == nullptr || pResDesc == nullptr || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY)
    return CUDA_ERROR_INVALID_VALUE;
  auto made = std::make_unique<SurfaceObject>();
  bool normalized_format = false;
  made->device.kind = PTX2CPU_KIND_SURFACE_OBJECT;
  if (const CUresult error = DescribeImage(*pResDesc, &made->device.image, &normalized_format)) return error;
  made->resource = *pResDesc;
  *pSurfObject = PublishIn(*context, std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject surfObject) { return Destroy<SurfaceObject>(surfObject); }

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUsurfObject surfObject) {
  SurfaceObject* surface = nullptr;
  if (const CUresult error = Find(surfObject, pResDesc, surface)) return error;
  *pResDesc = surface->resource;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
