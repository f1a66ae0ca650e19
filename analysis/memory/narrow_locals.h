// Finds local addresses in 32 bits. The addresses of a called function's variables are distances from the
// thread's window to a frame of the host's stack, which 32 bits do not hold: where a program computes with
// such addresses, the variables of its functions must be in the window itself.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// Whether an access to local memory, or a conversion of a local address, has an address that was widened from
// 32 bits. An index that is widened and added to an address of 64 bits does not count.
bool HasNarrowLocalAddresses(const ir::Module& module);

}  // namespace ptx2cpu::analysis
