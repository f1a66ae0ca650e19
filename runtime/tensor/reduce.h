// One element of a reduction into a tensor, as an atomic of its own.
#pragma once

#include <stdint.h>

namespace ptx2cpu::rt::tensor {

// reduction, element: runtime/abi/tensor_map.h. Pairs that PTX does not have change nothing.
void Reduce(uint32_t reduction, uint32_t element, uint8_t* to, const uint8_t* from);

}  // namespace ptx2cpu::rt::tensor
