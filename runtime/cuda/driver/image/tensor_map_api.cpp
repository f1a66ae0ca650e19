// Tensor maps for the host's programs.
#include <array>
#include <cstddef>
#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/driver/image/tensor_map.h"

namespace ptx2cpu::driver {

namespace {

constexpr cuuint32_t kMaxBox = 256, kMaxPixels = 1024;
constexpr uintptr_t kAlign = 16;

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                const cuuint64_t* globalStrides, const cuuint32_t* boxDim,
                                const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
                                CUtensorMapFloatOOBfill oobFill) {
  const TensorDescription d{tensorMap, tensorDataType, tensorRank,     globalAddress,
                            globalDim, globalStrides,  elementStrides, interleave,
                            swizzle,   l2Promotion,    oobFill};
  if (boxDim == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ptx2cpu_tensor_map map{};
  if (const CUresult error = DescribeTensor(d, boxDim[0], map)) return error;
  for (cuuint32_t n = 0; n < tensorRank; ++n) {
    if (boxDim[n] == 0 || boxDim[n] > kMaxBox) return CUDA_ERROR_INVALID_VALUE;
    map.box[n] = static_cast<uint16_t>(boxDim[n]);
  }
  return PutTensorMap(d, map);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType,
                                 cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                 const cuuint64_t* globalStrides, const int* pixelBoxLowerCorner,
                                 const int* pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
                                 cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  const TensorDescription d{tensorMap, tensorDataType, tensorRank,     globalAddress,
                            globalDim, globalStrides,  elementStrides, interleave,
                            swizzle,   l2Promotion,    oobFill};
  if (pixelBoxLowerCorner == nullptr || pixelBoxUpperCorner == nullptr || tensorRank < 3 ||
      channelsPerPixel == 0 || channelsPerPixel > kMaxBox || pixelsPerColumn == 0 ||
      pixelsPerColumn > kMaxPixels)
    return CUDA_ERROR_INVALID_VALUE;
  ptx2cpu_tensor_map map{};
  if (const CUresult error = DescribeTensor(d, channelsPerPixel, map)) return error;
  constexpr std::array<int, 3> kLeast = {-32768, -128, -16};  // by the number of spatial dimensions
  const cuuint32_t spatial = tensorRank - 2;
  for (cuuint32_t n = 0; n < spatial; ++n) {
    const int least = kLeast[spatial - 1], most = -least - 1;
    for (const int corner : {pixelBoxLowerCorner[n], pixelBoxUpperCorner[n]}) {
      if (corner < least || corner > most) return CUDA_ERROR_INVALID_VALUE;
    }
    map.lower[n] = static_cast<int16_t>(pixelBoxLowerCorner[n]);
    map.upper[n] = static_cast<int16_t>(pixelBoxUpperCorner[n]);
  }
  map.channels = channelsPerPixel;
  map.pixels = pixelsPerColumn;
  return PutTensorMap(d, map);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
  if (tensorMap == nullptr || reinterpret_cast<uintptr_t>(globalAddress) % kAlign != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<uint64_t>(globalAddress);
  std::memcpy(reinterpret_cast<std::byte*>(tensorMap) + offsetof(ptx2cpu_tensor_map, address), &address,
              sizeof(address));
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
