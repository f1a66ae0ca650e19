// Tensors in the SPEC language: the kernel gets the address of a tensor map in memory.
//
//   tensor:OPTION,OPTION,...:TYPE:LIST      memory of a tensor; its contents afterwards are a result
//
// clang-format off
//   size=A[xB...]       elements of each dimension, 1 to 5 of them; their strides are those of LIST without gaps
//   strides=A[xB...]    bytes, of dimensions 1 and up
//   box=A[xB...]        elements (tiles)
//   step=A[xB...]       element strides; 1 for all otherwise
//   swizzle=N           32, 64, 128
//   type=NAME           of the map, if not TYPE: f32ftz, tf32, tf32ftz
//   nan                 what is outside is NaN
//   lower=A[/B...], upper=A[/B...], channels=N, pixels=N    a map for im2col
// clang-format on
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ir/result.h"

namespace ptx2cpu::rt {

enum class TensorType : uint8_t {  // numbered as CUtensorMapDataType
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF64,
  kBF16,
  kF32Ftz,
  kTF32,
  kTF32Ftz
};

struct TensorSpec {
  uint32_t rank = 0;
  TensorType type = TensorType::kU8;
  std::array<uint64_t, 5> sizes{};
  std::array<uint64_t, 4> strides{};  // 0: those without gaps
  std::array<uint32_t, 5> box{}, steps{1, 1, 1, 1, 1};
  uint32_t swizzle = 0;  // numbered as CUtensorMapSwizzle
  bool nan = false, is_im2col = false;
  std::array<int, 3> lower{}, upper{};
  uint32_t channels = 0, pixels = 0;
};

// `type`: the name of the list's type.
Result<TensorSpec> ParseTensorOptions(std::string_view options, std::string_view type, uint32_t bytes);

}  // namespace ptx2cpu::rt
