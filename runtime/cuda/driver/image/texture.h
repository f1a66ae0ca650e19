// From descriptions of textures and surfaces to what kernels read (runtime/abi/texture.h).
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/abi/texture.h"
#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"

namespace ptx2cpu::driver {

// Legal or INVALID_VALUE. Memory is not looked up: what a texture reads past its allocation a kernel's access
// would too.
cuda::CUresult DescribeImage(const cuda::CUDA_RESOURCE_DESC& resource, ptx2cpu_image* image,
                             bool* normalized_format);
// The image seen in another format, or parts of it.
cuda::CUresult ApplyView(const cuda::CUDA_RESOURCE_VIEW_DESC& view, ptx2cpu_image* image);
// How it is read. The image has to be there.
cuda::CUresult DescribeSampling(const cuda::CUDA_TEXTURE_DESC& description, bool normalized_format,
                                ptx2cpu_texture* texture);

// A handle is the address of the object, which begins with what kernels read.
struct TextureObject {
  using Handle = cuda::CUtexObject;
  static constexpr HandleKind kKind = HandleKind::kTextureObject;

  ptx2cpu_texture device = {};
  cuda::CUDA_RESOURCE_DESC resource = {};
  cuda::CUDA_TEXTURE_DESC description = {};
  std::optional<cuda::CUDA_RESOURCE_VIEW_DESC> view;
};

struct SurfaceObject {
  using Handle = cuda::CUsurfObject;
  static constexpr HandleKind kKind = HandleKind::kSurfaceObject;

  ptx2cpu_surface device = {};
  cuda::CUDA_RESOURCE_DESC resource = {};
};

}  // namespace ptx2cpu::driver
