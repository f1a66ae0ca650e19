#include "runtime/cuda/driver/image/tensor_map.h"

#include <array>
#include <cstring>

namespace ptx2cpu::driver {

namespace {

static_assert(sizeof(CUtensorMap) == sizeof(ptx2cpu_tensor_map));

struct DataType {
  uint8_t element;           // of the map
  uint8_t unit_bytes, unit;  // in global memory: bytes of a unit, and its elements
  uint8_t shared_unit_bytes;
  bool is_float;
};
// The element sizes, by CUtensorMapDataType.
constexpr std::array<DataType, 16> kTypes = {{
    {PTX2CPU_TENSOR_U8, 1, 1, 1, false},
    {PTX2CPU_TENSOR_U16, 2, 1, 2, false},
    {PTX2CPU_TENSOR_U32, 4, 1, 4, false},
    {PTX2CPU_TENSOR_S32, 4, 1, 4, false},
    {PTX2CPU_TENSOR_U64, 8, 1, 8, false},
    {PTX2CPU_TENSOR_S64, 8, 1, 8, false},
    {PTX2CPU_TENSOR_F16, 2, 1, 2, true},
    {PTX2CPU_TENSOR_F32, 4, 1, 4, true},
    {PTX2CPU_TENSOR_F64, 8, 1, 8, true},
    {PTX2CPU_TENSOR_BF16, 2, 1, 2, true},
    {PTX2CPU_TENSOR_F32_FTZ, 4, 1, 4, true},
    {PTX2CPU_TENSOR_TF32, 4, 1, 4, true},
    {PTX2CPU_TENSOR_TF32_FTZ, 4, 1, 4, true},
    {PTX2CPU_TENSOR_B4X16, 8, 16, 8, false},
    {PTX2CPU_TENSOR_B4X16_PADDED, 8, 16, 16, false},
    {PTX2CPU_TENSOR_B6X16, 12, 16, 16, false},
}};

// By CUtensorMapSwizzle: the mode and the atom of the map.
struct Swizzle {
  uint8_t mode, atom, row_bytes;
};
constexpr std::array<Swizzle, 7> kSwizzles = {
    {{0, 0, 0}, {1, 0, 32}, {2, 0, 64}, {3, 0, 128}, {3, 1, 128}, {3, 2, 128}, {3, 3, 128}}};

constexpr cuuint32_t kMaxRank = 5, kMaxElementStride = 8;
constexpr cuuint64_t kMaxSize = cuuint64_t{1} << 32, kMaxStride = cuuint64_t{1} << 40, kAlign = 16,
                     kPaddedAlign = 32;

bool IsMultiple(cuuint64_t value, cuuint64_t of) { return value % of == 0; }

CUresult Check(const TensorDescription& d, cuuint64_t row_elements) {
  if (d.map == nullptr || d.address == nullptr || d.sizes == nullptr || d.element_strides == nullptr ||
      (d.rank > 1 && d.strides == nullptr) || !IsMultiple(reinterpret_cast<uintptr_t>(d.map), 64))
    return CUDA_ERROR_INVALID_VALUE;
  const auto type_number = static_cast<uint32_t>(d.type), swizzle_number = static_cast<uint32_t>(d.swizzle);
  if (type_number >= kTypes.size() || swizzle_number >= kSwizzles.size() || d.rank == 0 || d.rank > kMaxRank)
    return CUDA_ERROR_INVALID_VALUE;
  const DataType& type = kTypes[type_number];
  const bool is_padded = type.shared_unit_bytes != type.unit_bytes;
  const cuuint64_t align = is_padded ? kPaddedAlign : kAlign;
  if (!IsMultiple(reinterpret_cast<uintptr_t>(d.address), align)) return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t n = 0; n < d.rank; ++n) {
    if (d.sizes[n] == 0 || d.sizes[n] > kMaxSize) return CUDA_ERROR_INVALID_VALUE;
    if (d.element_strides[n] == 0 || d.element_strides[n] > kMaxElementStride)
      return CUDA_ERROR_INVALID_VALUE;
    if (n > 0 && (!IsMultiple(d.strides[n - 1], align) || d.strides[n - 1] >= kMaxStride))
      return CUDA_ERROR_INVALID_VALUE;
  }
  const cuuint64_t row_bytes = row_elements * type.shared_unit_bytes / type.unit;
  const bool fits = d.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
                    (IsMultiple(row_bytes, kAlign) && (d.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ||
                                                       row_bytes <= kSwizzles[swizzle_number].row_bytes));
  if (!fits || (type.unit > 1 && !IsMultiple(row_elements, type.unit))) return CUDA_ERROR_INVALID_VALUE;
  if (d.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !type.is_float) return CUDA_ERROR_INVALID_VALUE;
  // NC/8HWC8 and the like: kernels here cannot copy them.
  return d.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

ptx2cpu_tensor_map MapOf(const TensorDescription& d) {
  ptx2cpu_tensor_map map{};
  map.address = reinterpret_cast<uintptr_t>(d.address);
  for (cuuint32_t n = 0; n < d.rank; ++n) {
    map.sizes[n] = static_cast<uint32_t>(d.sizes[n]);
    map.element_strides[n] = static_cast<uint8_t>(d.element_strides[n]);
    if (n > 0) map.strides[n - 1] = d.strides[n - 1];
  }
  map.rank = static_cast<uint8_t>(d.rank - 1);
  map.element = kTypes[static_cast<uint32_t>(d.type)].element;
  map.interleave = static_cast<uint8_t>(d.interleave);
  map.swizzle = kSwizzles[static_cast<uint32_t>(d.swizzle)].mode;
  map.swizzle_atomicity = kSwizzles[static_cast<uint32_t>(d.swizzle)].atom;
  map.fill = d.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ? 0 : 1;
  return map;
}

}  // namespace

CUresult DescribeTensor(const TensorDescription& description, cuuint64_t row_elements,
                        ptx2cpu_tensor_map& map) {
  if (const CUresult error = Check(description, row_elements)) return error;
  map = MapOf(description);
  return CUDA_SUCCESS;
}

CUresult PutTensorMap(const TensorDescription& description, const ptx2cpu_tensor_map& map) {
  std::memcpy(description.map, &map, sizeof(map));
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
