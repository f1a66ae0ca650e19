// Decides whether the results of a kernel depend on the order in which its blocks run.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::lowering {

// Whether one of the function's own instructions makes its results depend on the order of blocks, in a
// program without races: global atomics that round, that exchange or whose result is used, and reads of what
// other blocks write meanwhile (volatile, relaxed, acquire).
bool OrderMatters(const ir::Function& f);

}  // namespace ptx2cpu::lowering
