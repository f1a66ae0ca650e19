// From the runtime's descriptions of textures to the driver's and back.
#pragma once

#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cudart {

// cudaErrorInvalidChannelDescriptor, cudaErrorInvalidValue.
cuda::cudaError_t FromResource(cuda::cudaResourceType type, const cuda::cudaResourceDescUnion& resource,
                               cuda::CUDA_RESOURCE_DESC& to);
cuda::cudaError_t ToResource(const cuda::CUDA_RESOURCE_DESC& from, cuda::cudaResourceType& type,
                             cuda::cudaResourceDescUnion& resource);
cuda::CUDA_TEXTURE_DESC FromTexture(const cuda::cudaTextureDesc11& texture, bool seamless_cubemap);
void ToTexture(const cuda::CUDA_TEXTURE_DESC& from, cuda::cudaTextureDesc11& texture);
cuda::CUDA_RESOURCE_VIEW_DESC FromView(const cuda::cudaResourceViewDesc12& view);
void ToView(const cuda::CUDA_RESOURCE_VIEW_DESC& from, cuda::cudaResourceViewDesc12& view);

}  // namespace ptx2cpu::cudart
