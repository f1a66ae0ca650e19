// CUDA arrays: making them, asking about them, copying into and out of them.
#include <algorithm>

#include "cudart_api.h"
#include "runtime/cuda/cudart/channel.h"
#include "runtime/cuda/cudart/copy.h"

namespace ptx2cpu::cudart {

namespace {

cudaError_t Describe(const cudaChannelFormatDesc* desc, const cudaExtent& extent, unsigned flags,
                     CUDA_ARRAY3D_DESCRIPTOR& array) {
  if (desc == nullptr) return cudaErrorInvalidValue;
  Format format;
  if (const cudaError_t error = FormatOf(*desc, format)) return error;
  array = {extent.width, extent.height, extent.depth, format.format, format.channels, flags};
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width,
                            size_t height, unsigned int flags) {
  return cudaMalloc3DArray(array, desc, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent,
                              unsigned int flags) {
  if (array == nullptr) return cudaErrorInvalidValue;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (const cudaError_t error = Describe(desc, extent, flags, descriptor)) return error;
  return InContext(&driver::cuArray3DCreate_v2, reinterpret_cast<CUarray*>(array), &descriptor);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmappedArray, const cudaChannelFormatDesc* desc,
                                     cudaExtent extent, unsigned int numLevels, unsigned int flags) {
  if (mipmappedArray == nullptr) return cudaErrorInvalidValue;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (const cudaError_t error = Describe(desc, extent, flags, descriptor)) return error;
  return InContext(&driver::cuMipmappedArrayCreate, reinterpret_cast<CUmipmappedArray*>(mipmappedArray),
                   &descriptor, numLevels);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  if (const cudaError_t error = Begin()) return error;
  return array == nullptr ? cudaSuccess : FromDriver(driver::cuArrayDestroy(ArrayOf(array)));
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray) {
  if (const cudaError_t error = Begin()) return error;
  return mipmappedArray == nullptr ? cudaSuccess
                                   : FromDriver(driver::cuMipmappedArrayDestroy(MipmapOf(mipmappedArray)));
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* levelArray, cudaMipmappedArray_const_t mipmappedArray,
                                       unsigned int level) {
  return InContext(&driver::cuMipmappedArrayGetLevel, reinterpret_cast<CUarray*>(levelArray),
                   MipmapOf(mipmappedArray), level);
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (const cudaError_t error = InContext(&driver::cuArray3DGetDescriptor_v2, &descriptor, ArrayOf(array)))
    return error;
  if (flags != nullptr) *flags = descriptor.Flags;
  if (extent != nullptr) *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
  return desc == nullptr ? cudaSuccess : DescriptionOf({descriptor.Format, descriptor.NumChannels}, *desc);
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  if (desc == nullptr) return cudaErrorInvalidValue;
  return cudaArrayGetInfo(desc, nullptr, nullptr, const_cast<cudaArray_t>(array));
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements,
                                                 const cudaChannelFormatDesc* fmtDesc, int device) {
  if (maxWidthInElements == nullptr || fmtDesc == nullptr) return cudaErrorInvalidValue;
  Format format;
  if (const cudaError_t error = FormatOf(*fmtDesc, format)) return error;
  return InContext(&driver::cuDeviceGetTexture1DLinearMaxWidth, maxWidthInElements, format.format,
                   format.channels, device);
}

cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* memoryRequirements, cudaArray_t array,
                                           int device) {
  return InContext(&driver::cuArrayGetMemoryRequirements,
                   Twin<CUDA_ARRAY_MEMORY_REQUIREMENTS>(memoryRequirements), ArrayOf(array), device);
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(cudaArrayMemoryRequirements* memoryRequirements,
                                                    cudaMipmappedArray_t mipmap, int device) {
  return InContext(&driver::cuMipmappedArrayGetMemoryRequirements,
                   Twin<CUDA_ARRAY_MEMORY_REQUIREMENTS>(memoryRequirements), MipmapOf(mipmap), device);
}

namespace {

// Synchronous or in a stream.
struct How {
  bool async = false;
  cudaStream_t stream = nullptr;
};

cudaError_t Run(const CUDA_MEMCPY2D& copy, How how) {
  if (copy.WidthInBytes == 0 || copy.Height == 0) return cudaSuccess;
  return FromDriver(how.async ? driver::cuMemcpy2DAsync_v2(&copy, how.stream)
                              : driver::cuMemcpy2DUnaligned_v2(&copy));
}

cudaError_t RectToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t pitch, size_t width,
                        size_t height, cudaMemcpyKind kind, How how) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(kind, types)) return error;
  if (width > pitch) return cudaErrorInvalidPitchValue;
  if (const cudaError_t error = Begin()) return error;
  return Run(RectCopy({.type = CU_MEMORYTYPE_ARRAY, .array = ArrayOf(dst), .x = x, .y = y},
                      {.type = types.from, .pointer = src, .pitch = pitch}, width, height),
             how);
}

cudaError_t RectFromArray(void* dst, size_t pitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                          size_t height, cudaMemcpyKind kind, How how) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(kind, types)) return error;
  if (width > pitch) return cudaErrorInvalidPitchValue;
  if (const cudaError_t error = Begin()) return error;
  return Run(RectCopy({.type = types.to, .pointer = dst, .pitch = pitch},
                      {.type = CU_MEMORYTYPE_ARRAY, .array = ArrayOf(src), .x = x, .y = y}, width, height),
             how);
}

// `count` bytes in the array's reading order from (x, y) on: the rest of a row, complete rows, the head of a
// row.
template <typename Piece>
cudaError_t InRows(cudaArray_const_t array, size_t x, size_t y, size_t count, const Piece& piece) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (const cudaError_t error = InContext(&driver::cuArray3DGetDescriptor_v2, &descriptor, ArrayOf(array)))
    return error;
  const size_t row = descriptor.Width * BytesOf({descriptor.Format, descriptor.NumChannels});
  if (row == 0 || x > row) return cudaErrorInvalidValue;
  for (size_t done = 0; done < count;) {
    const size_t left = count - done;
    const size_t width = x != 0 || left < row ? std::min(row - x, left) : row;
    const size_t height = width == row ? left / row : 1;
    if (const cudaError_t error = piece(done, x, y, width, height)) return error;
    done += width * height;
    y += height;
    x = 0;
  }
  return cudaSuccess;
}

cudaError_t LinearToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t count,
                          cudaMemcpyKind kind, How how) {
  return InRows(dst, x, y, count, [&](size_t done, size_t at_x, size_t at_y, size_t width, size_t height) {
    return RectToArray(dst, at_x, at_y, static_cast<const std::byte*>(src) + done, width, width, height, kind,
                       how);
  });
}

cudaError_t LinearFromArray(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t count,
                            cudaMemcpyKind kind, How how) {
  return InRows(src, x, y, count, [&](size_t done, size_t at_x, size_t at_y, size_t width, size_t height) {
    return RectFromArray(static_cast<std::byte*>(dst) + done, width, src, at_x, at_y, width, height, kind,
                         how);
  });
}

}  // namespace

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                                size_t spitch, size_t width, size_t height, cudaMemcpyKind kind) {
  return RectToArray(dst, wOffset, hOffset, src, spitch, width, height, kind, {});
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                                     size_t spitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return RectToArray(dst, wOffset, hOffset, src, spitch, width, height, kind, {true, stream});
}

cudaError_t cudaMemcpy2DFromArray(void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                                  size_t hOffset, size_t width, size_t height, cudaMemcpyKind kind) {
  return RectFromArray(dst, dpitch, src, wOffset, hOffset, width, height, kind, {});
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                                       size_t hOffset, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return RectFromArray(dst, dpitch, src, wOffset, hOffset, width, height, kind, {true, stream});
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                     cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
                                     size_t width, size_t height, cudaMemcpyKind kind) {
  MemoryTypes types;
  if (const cudaError_t error = TypesOf(kind, types)) return error;
  if (const cudaError_t error = Begin()) return error;
  return Run(RectCopy({.type = CU_MEMORYTYPE_ARRAY, .array = ArrayOf(dst), .x = wOffsetDst, .y = hOffsetDst},
                      {.type = CU_MEMORYTYPE_ARRAY, .array = ArrayOf(src), .x = wOffsetSrc, .y = hOffsetSrc},
                      width, height),
             {});
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t count,
                              cudaMemcpyKind kind) {
  return LinearToArray(dst, wOffset, hOffset, src, count, kind, {});
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                                   size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return LinearToArray(dst, wOffset, hOffset, src, count, kind, {true, stream});
}

cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                size_t count, cudaMemcpyKind kind) {
  return LinearFromArray(dst, src, wOffset, hOffset, count, kind, {});
}

cudaError_t cudaMemcpyFromArrayAsync(void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                                     size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return LinearFromArray(dst, src, wOffset, hOffset, count, kind, {true, stream});
}

// Two arrays may have rows of different lengths: a piece ends where a row of either ends.
cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                   cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc, size_t count,
                                   cudaMemcpyKind kind) {
  return InRows(
      src, wOffsetSrc, hOffsetSrc, count, [&](size_t done, size_t x, size_t y, size_t width, size_t height) {
        for (size_t row = 0; row < height; ++row) {
          CUDA_ARRAY3D_DESCRIPTOR descriptor;
          if (const cudaError_t error =
                  InContext(&driver::cuArray3DGetDescriptor_v2, &descriptor, ArrayOf(dst)))
            return error;
          const size_t to_row = descriptor.Width * BytesOf({descriptor.Format, descriptor.NumChannels});
          if (to_row == 0) return cudaErrorInvalidValue;
          const size_t at = hOffsetDst * to_row + wOffsetDst + done + row * width;
          const cudaError_t error = InRows(dst, at % to_row, at / to_row, width,
                                           [&](size_t part, size_t to_x, size_t to_y, size_t bytes, size_t) {
                                             return cudaMemcpy2DArrayToArray(dst, to_x, to_y, src, x + part,
                                                                             y + row, bytes, 1, kind);
                                           });
          if (error != cudaSuccess) return error;
        }
        return cudaSuccess;
      });
}

}  // namespace ptx2cpu::cudart
