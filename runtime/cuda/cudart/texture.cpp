// From the runtime's descriptions of textures to the driver's and back.
#include "runtime/cuda/cudart/texture.h"

#include <algorithm>
#include <cstring>

#include "cudart_api.h"
#include "runtime/cuda/cudart/channel.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

cudaError_t FromResource(cudaResourceType type, const cudaResourceDescUnion& resource,
                         CUDA_RESOURCE_DESC& to) {
  to = {};
  to.resType = static_cast<CUresourcetype>(type);
  Format format{};
  switch (type) {
    case cudaResourceTypeArray:
      to.res.array.hArray = ArrayOf(resource.array.array);
      return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
      to.res.mipmap.hMipmappedArray = MipmapOf(resource.mipmap.mipmap);
      return cudaSuccess;
    case cudaResourceTypeLinear:
      if (const cudaError_t error = FormatOf(resource.linear.desc, format)) return error;
      to.res.linear = {Address(resource.linear.devPtr), format.format, format.channels,
                       resource.linear.sizeInBytes};
      return cudaSuccess;
    case cudaResourceTypePitch2D:
      if (const cudaError_t error = FormatOf(resource.pitch2D.desc, format)) return error;
      to.res.pitch2D = {
          Address(resource.pitch2D.devPtr), format.format,           format.channels,
          resource.pitch2D.width,           resource.pitch2D.height, resource.pitch2D.pitchInBytes};
      return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t ToResource(const CUDA_RESOURCE_DESC& from, cudaResourceType& type,
                       cudaResourceDescUnion& resource) {
  std::memset(&resource, 0, sizeof resource);
  type = static_cast<cudaResourceType>(from.resType);
  switch (from.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      resource.array.array = reinterpret_cast<cudaArray_t>(from.res.array.hArray);
      return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      resource.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(from.res.mipmap.hMipmappedArray);
      return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
      resource.linear.devPtr = reinterpret_cast<void*>(from.res.linear.devPtr);
      resource.linear.sizeInBytes = from.res.linear.sizeInBytes;
      return DescriptionOf({from.res.linear.format, from.res.linear.numChannels}, resource.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
      resource.pitch2D.devPtr = reinterpret_cast<void*>(from.res.pitch2D.devPtr);
      resource.pitch2D.width = from.res.pitch2D.width;
      resource.pitch2D.height = from.res.pitch2D.height;
      resource.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
      return DescriptionOf({from.res.pitch2D.format, from.res.pitch2D.numChannels}, resource.pitch2D.desc);
  }
  return cudaErrorInvalidValue;
}

CUDA_TEXTURE_DESC FromTexture(const cudaTextureDesc11& texture, bool seamless_cubemap) {
  CUDA_TEXTURE_DESC to{};
  for (size_t i = 0; i < 3; ++i) to.addressMode[i] = static_cast<CUaddress_mode>(texture.addressMode[i]);
  to.filterMode = static_cast<CUfilter_mode>(texture.filterMode);
  if (texture.readMode == cudaReadModeElementType) to.flags |= CU_TRSF_READ_AS_INTEGER;
  if (texture.normalizedCoords != 0) to.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (texture.sRGB != 0) to.flags |= CU_TRSF_SRGB;
  if (texture.disableTrilinearOptimization != 0) to.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  if (seamless_cubemap) to.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  to.maxAnisotropy = texture.maxAnisotropy;
  to.mipmapFilterMode = static_cast<CUfilter_mode>(texture.mipmapFilterMode);
  to.mipmapLevelBias = texture.mipmapLevelBias;
  to.minMipmapLevelClamp = texture.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
  std::copy_n(texture.borderColor, 4, to.borderColor);
  return to;
}

void ToTexture(const CUDA_TEXTURE_DESC& from, cudaTextureDesc11& texture) {
  for (size_t i = 0; i < 3; ++i)
    texture.addressMode[i] = static_cast<cudaTextureAddressMode>(from.addressMode[i]);
  texture.filterMode = static_cast<cudaTextureFilterMode>(from.filterMode);
  texture.readMode =
      (from.flags & CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  texture.normalizedCoords = (from.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  texture.sRGB = (from.flags & CU_TRSF_SRGB) != 0;
  texture.disableTrilinearOptimization = (from.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
  texture.maxAnisotropy = from.maxAnisotropy;
  texture.mipmapFilterMode = static_cast<cudaTextureFilterMode>(from.mipmapFilterMode);
  texture.mipmapLevelBias = from.mipmapLevelBias;
  texture.minMipmapLevelClamp = from.minMipmapLevelClamp;
  texture.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy_n(from.borderColor, 4, texture.borderColor);
}

CUDA_RESOURCE_VIEW_DESC FromView(const cudaResourceViewDesc12& view) {
  return {static_cast<CUresourceViewFormat>(view.format),
          view.width,
          view.height,
          view.depth,
          view.firstMipmapLevel,
          view.lastMipmapLevel,
          view.firstLayer,
          view.lastLayer,
          {}};
}

void ToView(const CUDA_RESOURCE_VIEW_DESC& from, cudaResourceViewDesc12& view) {
  view = {static_cast<cudaResourceViewFormat>(from.format),
          from.width,
          from.height,
          from.depth,
          from.firstMipmapLevel,
          from.lastMipmapLevel,
          from.firstLayer,
          from.lastLayer};
}

}  // namespace ptx2cpu::cudart
