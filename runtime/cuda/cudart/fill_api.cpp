// cudaMemset and its relatives.
#include "cudart_api.h"
#include "runtime/cuda/cudart/copy.h"

namespace ptx2cpu::cudart {

namespace {

// A box is rows of one pitch if its slices are contiguous; else slice by slice.
template <typename Rows>
cudaError_t FillBox(const cudaPitchedPtr& box, const cudaExtent& extent, const Rows& rows) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  if (extent.height == box.ysize || extent.depth == 1)
    return FromDriver(rows(Address(box.ptr), extent.height * extent.depth));
  for (size_t z = 0; z < extent.depth; ++z) {
    if (const CUresult error = rows(Address(box.ptr) + z * box.pitch * box.ysize, extent.height))
      return FromDriver(error);
  }
  return cudaSuccess;
}

// Only memory that CUDA allocated or registered can be filled.
cudaError_t Check(const void* memory, bool nothing) {
  if (const cudaError_t error = Begin()) return error;
  return nothing || Fits(CU_MEMORYTYPE_DEVICE, memory) ? cudaSuccess : cudaErrorInvalidValue;
}

unsigned char Byte(int value) { return static_cast<unsigned char>(value); }

}  // namespace

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  if (const cudaError_t error = Check(devPtr, count == 0)) return error;
  return count == 0 ? cudaSuccess : FromDriver(driver::cuMemsetD8_v2(Address(devPtr), Byte(value), count));
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  if (const cudaError_t error = Check(devPtr, count == 0)) return error;
  return count == 0 ? cudaSuccess
                    : FromDriver(driver::cuMemsetD8Async(Address(devPtr), Byte(value), count, stream));
}

cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  if (const cudaError_t error = Check(devPtr, width == 0 || height == 0)) return error;
  return width == 0 || height == 0
             ? cudaSuccess
             : FromDriver(driver::cuMemsetD2D8_v2(Address(devPtr), pitch, Byte(value), width, height));
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  if (const cudaError_t error = Check(devPtr, width == 0 || height == 0)) return error;
  return width == 0 || height == 0 ? cudaSuccess
                                   : FromDriver(driver::cuMemsetD2D8Async(Address(devPtr), pitch, Byte(value),
                                                                          width, height, stream));
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent) {
  if (const cudaError_t error =
          Check(pitchedDevPtr.ptr, extent.width == 0 || extent.height == 0 || extent.depth == 0))
    return error;
  return FillBox(pitchedDevPtr, extent, [&](CUdeviceptr to, size_t rows) {
    return driver::cuMemsetD2D8_v2(to, pitchedDevPtr.pitch, Byte(value), extent.width, rows);
  });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                              cudaStream_t stream) {
  if (const cudaError_t error =
          Check(pitchedDevPtr.ptr, extent.width == 0 || extent.height == 0 || extent.depth == 0))
    return error;
  return FillBox(pitchedDevPtr, extent, [&](CUdeviceptr to, size_t rows) {
    return driver::cuMemsetD2D8Async(to, pitchedDevPtr.pitch, Byte(value), extent.width, rows, stream);
  });
}

}  // namespace ptx2cpu::cudart
