// Random code of single lanes: branches, loops that lanes leave in different trips, shared arms, switches,
// early ends, and accesses of memory in all forms: the same address for all lanes, consecutive ones, strided,
// scattered, several elements at once, narrow ones, atomics. A thread writes only what it alone reads. One
// seed, one kernel "k" with the convention of tests/passes/kernel_run.h, for at most 128 threads.
//
// kLine: blocks of shape (n, 1, 1), lane numbers are read; kAnyShape: neither.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::llvm_test {

enum class Blocks { kLine, kAnyShape };
ir::Module LaneKernel(uint64_t seed, Blocks blocks = Blocks::kLine);

}  // namespace ptx2cpu::llvm_test
