// PTX2CPU_ATOMICS=ordered (exec --atomics=ordered): the same bits for any number of workers and in every run.
#pragma once

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

// Whether the process requests it; the environment is read once.
bool OrderedAtomicsWanted();

// Whether the blocks of this kernel must then run one after the other, in the order of their indices. Other
// kernels compute the same in any order.
bool NeedsBlockOrder(const ptx2cpu_kernel& kernel);

}  // namespace ptx2cpu::rt
