// Properties of arrays that copies need.
#include <algorithm>

#include "cudart_api.h"
#include "runtime/cuda/cudart/channel.h"
#include "runtime/cuda/cudart/copy.h"

namespace ptx2cpu::cudart {

cudaError_t ElementBytes(CUarray array, size_t& bytes) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (const cudaError_t error = InContext(&driver::cuArray3DGetDescriptor_v2, &descriptor, array))
    return error;
  bytes = BytesOf({descriptor.Format, descriptor.NumChannels});
  return bytes == 0 ? cudaErrorInvalidChannelDescriptor : cudaSuccess;
}

}  // namespace ptx2cpu::cudart
