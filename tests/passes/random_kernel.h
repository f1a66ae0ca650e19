// Random structured kernels that are legal by construction: block barriers only where the whole block goes
// together, collectives only where a warp does, anything else anywhere. Threads may end early. One seed, one
// kernel.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::test {

ir::Module RandomKernel(uint64_t seed);  // one kernel "k" with the convention of kernel_run.h

}  // namespace ptx2cpu::test
