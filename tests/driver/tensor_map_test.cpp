// Tensor maps: their contents, and the descriptions that the driver refuses. Kernels that copy by them:
// tests/ptx/cp_async_bulk_tensor*.ptx.
#include "runtime/abi/tensor_map.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "driver_api.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

namespace {

struct Arguments {
  alignas(128) CUtensorMap map{};
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  cuuint32_t rank = 2;
  uintptr_t address = 0x10000;
  std::array<cuuint64_t, 5> sizes{40, 9, 3, 2, 2};
  std::array<cuuint64_t, 4> strides{96, 1024, 4096, 8192};
  std::array<cuuint32_t, 5> box{8, 4, 1, 1, 1}, steps{1, 2, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;

  CUresult Encode() {
    return cuTensorMapEncodeTiled(&map, type, rank, reinterpret_cast<void*>(address), sizes.data(),
                                  strides.data(), box.data(), steps.data(), interleave, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  }
};

}  // namespace

TEST_CASE("a tensor map has what the host describes") {
  Arguments a;
  REQUIRE(a.Encode() == CUDA_SUCCESS);
  ptx2cpu_tensor_map map;
  std::memcpy(&map, &a.map, sizeof(map));
  CHECK(map.address == a.address);
  CHECK(map.rank == 1);
  CHECK(map.element == PTX2CPU_TENSOR_F16);
  CHECK(map.sizes[1] == 9);
  CHECK(map.strides[0] == 96);
  CHECK(map.box[0] == 8);
  CHECK(map.element_strides[1] == 2);
  CHECK(map.swizzle == 2);
  CHECK(map.fill == 1);
  REQUIRE(cuTensorMapReplaceAddress(&a.map, reinterpret_cast<void*>(uintptr_t{0x20000})) == CUDA_SUCCESS);
  std::memcpy(&map, &a.map, sizeof(map));
  CHECK(map.address == 0x20000);
  CHECK(map.strides[0] == 96);
}

TEST_CASE("descriptions that no tensor has are refused") {
  const auto refused = [](auto change) {
    Arguments a;
    change(a);
    return a.Encode();
  };
  CHECK(refused([](Arguments&) {}) == CUDA_SUCCESS);
  CHECK(refused([](Arguments& a) { a.address = 0x10008; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.rank = 6; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.rank = 0; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.sizes[1] = 0; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.strides[0] = 88; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.box[1] = 257; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.box[0] = 4; }) == CUDA_ERROR_INVALID_VALUE);  // 8 bytes
  CHECK(refused([](Arguments& a) { a.box[0] = 40; }) ==
        CUDA_ERROR_INVALID_VALUE);  // more than the swizzle's span
  CHECK(refused([](Arguments& a) { a.steps[1] = 9; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.type = CU_TENSOR_MAP_DATA_TYPE_UINT16; }) == CUDA_ERROR_INVALID_VALUE);
  CHECK(refused([](Arguments& a) { a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; }) ==
        CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("a map for im2col has corners within the bits of its rank") {
  alignas(128) CUtensorMap bytes{};
  const std::array<cuuint64_t, 4> sizes{16, 5, 4, 3}, strides{32, 160, 640};
  const std::array<cuuint32_t, 4> steps{1, 1, 1, 1};
  std::array<int, 2> lower{-1, -2}, upper{0, 1};
  const auto encode = [&](cuuint32_t rank, cuuint32_t pixels) {
    return cuTensorMapEncodeIm2col(&bytes, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank,
                                   reinterpret_cast<void*>(uintptr_t{0x10000}), sizes.data(), strides.data(),
                                   lower.data(), upper.data(), 8, pixels, steps.data(),
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  REQUIRE(encode(4, 32) == CUDA_SUCCESS);
  ptx2cpu_tensor_map map;
  std::memcpy(&map, &bytes, sizeof(map));
  CHECK(map.lower[1] == -2);
  CHECK(map.upper[1] == 1);
  CHECK(map.channels == 8);
  CHECK(map.pixels == 32);
  CHECK(encode(4, 1025) == CUDA_ERROR_INVALID_VALUE);
  CHECK(encode(2, 32) == CUDA_ERROR_INVALID_VALUE);
  lower[0] = -129;
  CHECK(encode(4, 32) == CUDA_ERROR_INVALID_VALUE);
}
