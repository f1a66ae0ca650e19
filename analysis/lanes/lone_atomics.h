// Finds the atomics that need no lock while no other host thread runs code of kernels
// (runtime/abi/lone_launches.h).
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

// One that is atomic for threads of the device only, in memory that other blocks see.
bool MayBeAlone(const ir::Inst& inst);

// Whether the kernel has some and its launches may run alone: they neither suspend nor call what may wait,
// and what memory holds does not decide how long a loop runs, as another launch may write what it waits for.
bool MayRunAlone(const ir::Function& f);

}  // namespace ptx2cpu::analysis
