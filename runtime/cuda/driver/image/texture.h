// Makes the structures that kernels read (runtime/abi/texture.h) from descriptions of textures and surfaces.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/abi/texture.h"
#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"

namespace ptx2cpu::driver {

// INVALID_VALUE where it is not legal. Memory is not looked up: a texture may read past its allocation, as a
// kernel's access may.
cuda::CUresult DescribeImage(const cuda::CUDA_RESOURCE_DESC& resource, ptx2cpu_image* image,
                             bool* normalized_format);
// The image seen in another format, or parts of it.
cuda::CUresult ApplyView(const cuda::CUDA_RESOURCE_VIEW_DESC& view, ptx2cpu_image* image);
// Describes how the image is read; DescribeImage comes before.
cuda::CUresult DescribeSampling(const cuda::CUDA_TEXTURE_DESC& description, bool normalized_format,
                                ptx2cpu_texture* texture);

// A handle is the address of the object, which begins with the structure that kernels read.
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
