// Channel descriptions (bits of up to four components and their kind) and the driver's formats.
#pragma once

#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cudart {

struct Format {
  cuda::CUarray_format format;
  unsigned channels;
};

// cudaErrorInvalidChannelDescriptor: no format corresponds to it.
cuda::cudaError_t FormatOf(const cuda::cudaChannelFormatDesc& description, Format& format);
// cudaErrorInvalidChannelDescriptor: no channel description corresponds to it.
cuda::cudaError_t DescriptionOf(const Format& format, cuda::cudaChannelFormatDesc& description);
// Bytes of an element. 0: a format without elements of whole bytes.
size_t BytesOf(const Format& format);

}  // namespace ptx2cpu::cudart
