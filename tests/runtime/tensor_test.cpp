// Reductions into tensors: which types of elements have which. Their results:
// tests/ptx/cp_async_bulk_tensor_store.ptx.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/tensor/tensor_copy.h"

using namespace ptx2cpu;

TEST_CASE("tensor: a reduction that the type of the elements has not is refused, and writes nothing") {
  struct Type {
    ptx2cpu_tensor_element element;
    uint32_t last;  // the last of ptx2cpu_tensor_reduction that it has
  };
  constexpr Type kTypes[] = {
      {PTX2CPU_TENSOR_U8, PTX2CPU_TENSOR_NONE},      {PTX2CPU_TENSOR_U16, PTX2CPU_TENSOR_NONE},
      {PTX2CPU_TENSOR_U32, PTX2CPU_TENSOR_XOR},      {PTX2CPU_TENSOR_S32, PTX2CPU_TENSOR_XOR},
      {PTX2CPU_TENSOR_U64, PTX2CPU_TENSOR_XOR},      {PTX2CPU_TENSOR_S64, PTX2CPU_TENSOR_XOR},
      {PTX2CPU_TENSOR_F16, PTX2CPU_TENSOR_MAX},      {PTX2CPU_TENSOR_F32, PTX2CPU_TENSOR_MAX},
      {PTX2CPU_TENSOR_F32_FTZ, PTX2CPU_TENSOR_MAX},  {PTX2CPU_TENSOR_F64, PTX2CPU_TENSOR_MAX},
      {PTX2CPU_TENSOR_BF16, PTX2CPU_TENSOR_MAX},     {PTX2CPU_TENSOR_TF32, PTX2CPU_TENSOR_NONE},
      {PTX2CPU_TENSOR_TF32_FTZ, PTX2CPU_TENSOR_NONE}};
  constexpr uint32_t kElements = 4;
  for (const auto& [element, last] : kTypes) {
    for (uint32_t reduction = PTX2CPU_TENSOR_NONE; reduction < 16; ++reduction) {
      INFO("element " << element << ", reduction " << reduction);
      alignas(16) std::array<uint64_t, 4> global{}, shared{};
      global.fill(0x0102030405060708), shared.fill(0x1112131415161718);
      const std::array<uint64_t, 4> before = global;
      ptx2cpu_tensor_map map{};
      map.address = reinterpret_cast<uint64_t>(global.data());
      map.sizes[0] = kElements, map.box[0] = kElements, map.element_strides[0] = 1;
      map.element = element;
      const uint32_t form = 1 | PTX2CPU_TENSOR_STORES | reduction << PTX2CPU_TENSOR_REDUCTION_SHIFT;
      const uint32_t at[8] = {};
      const uint32_t bytes = rt::tensor::Copy(map, reinterpret_cast<uint8_t*>(shared.data()), 0, at, form);
      CHECK((bytes != rt::tensor::kNoBytes) == (reduction <= last));
      if (reduction > last) CHECK(global == before);
    }
  }
}
