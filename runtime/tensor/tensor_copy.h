// Copies between the box of a tensor and shared memory (cp.async.bulk.tensor), as ir/interpret/tensor.cpp
// defines them.
#pragma once

#include "runtime/abi/tensor_map.h"

namespace ptx2cpu::rt::tensor {

inline constexpr uint32_t kNoBytes = UINT32_MAX;

// `words`: coordinates, then offsets, as the form has them. `window` is where shared memory begins, which the
// pattern of swizzles counts from. The bytes of the box; kNoBytes where the map does not belong to the
// form, or its elements have no such reduction.
uint32_t Copy(const ptx2cpu_tensor_map& map, uint8_t* window, uint64_t offset, const uint32_t* words,
              uint32_t form);

}  // namespace ptx2cpu::rt::tensor
