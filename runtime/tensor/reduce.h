// One element of a reduction into a tensor, as an atomic of its own.
#pragma once

#include <stdint.h>

namespace ptx2cpu::rt::tensor {

using Reduction = void (*)(uint8_t* to, const uint8_t* from);
// reduction, element: runtime/abi/tensor_map.h. Null: no reduction, or one that the type of elements has not.
Reduction ReductionOf(uint32_t reduction, uint32_t element);

}  // namespace ptx2cpu::rt::tensor
